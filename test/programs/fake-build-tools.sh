#!/bin/sh
# Stands for git, cmake, ninja and a compiler: `sh fake-build-tools.sh TOOL …`. What goes wrong is in FAKE_BUILD; what was called goes to
# FAKE_BUILD_CALLS, a line each, words parted by tabs. A shell, because at the low priority of a compilation anything larger takes its time.
PATH=/usr/bin:/bin
tool=$1
(IFS='	'; printf '%s\n' "$*" >>"$FAKE_BUILD_CALLS")
shift

fail() {
  code=$1
  shift
  printf '%s\n' "$@" >&2
  exit "$code"
}

# The word after this one.
after() {
  wanted=$1
  shift
  while [ $# -gt 1 ]; do
    [ "$1" = "$wanted" ] && printf '%s' "$2" && return
    shift
  done
}

make_program() {
  case $FAKE_BUILD in
  no-program) printf '#!/bin/sh\nexit 132\n' ;;
  *) printf '#!/bin/sh\necho "version: 0.4.0-dev (build 1, commit 80fb11a)"\n' ;;
  esac >"$1"
  chmod 755 "$1"
}

case $tool in
git)
  for folder in "$@"; do
    # The real bundle has one commit and no name for it.
    [ "$folder" = --branch ] && fail 128 'fatal: Remote branch v0.4.0 not found in upstream origin'
  done
  mkdir -p "$folder"
  [ "$FAKE_BUILD" = clone-fails ] && fail 128 'fatal: this is not a bundle'
  : >"$folder/CMakeLists.txt"
  ;;
cmake)
  [ "$FAKE_BUILD" = configure-fails ] && fail 1 'CMake Error at CMakeLists.txt:2 (project): The CXX compiler is broken'
  mkdir -p "$(after -B "$@")/bin"
  echo '-- Configuring done (0.1s)'
  ;;
ninja)
  build=$(after -C "$@")
  steps=1
  [ -e "$build/first.o" ] || {
    steps=2
    echo '[1/2] Building CXX object first.o'
    printf '# ninja log v7\n0\t9\t1\tfirst.o\tff\n' >"$build/.ninja_log"
  }
  : >"$build/first.o"
  case $FAKE_BUILD in
  memory) fail 1 'FAILED: second.o' 'c++: fatal error: Killed signal terminated program cc1plus' ;;
  hangs)
    # A compiler that works for ever, whose number is told.
    sleep 600 &
    echo $! >"$build/compiler.pid"
    echo '[1/2] Building CXX object second.o'
    wait
    ;;
  esac
  echo "[$steps/$steps] Linking CXX executable bin/llama-server"
  make_program "$build/bin/llama-server"
  ;;
esac
exit 0
