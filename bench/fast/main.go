// A fast client and a fast upstream for the proxy bench, so that what is measured is what lies between them: `serve` or
// `shoot URL CONNECTIONS SECONDS`, with the body of each request on standard input. Both write one line of JSON.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sort"
	"strconv"
	"sync"
	"time"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "serve" {
		serve()
	} else if len(os.Args) == 5 && os.Args[1] == "shoot" {
		shoot(os.Args[2], number(os.Args[3]), number(os.Args[4]))
	} else {
		fail(fmt.Errorf("usage: serve | shoot URL CONNECTIONS SECONDS"))
	}
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		fail(err)
	}
	return value
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func chunk(choices, more string) string {
	return `data: {"id":"x","object":"chat.completion.chunk","created":0,"model":"fake","choices":[` + choices + `]` + more + "}\n\n"
}

// The pieces of an answer: a role, 16 words, the end and the usage.
func pieces() []string {
	all := []string{chunk(`{"index":0,"delta":{"role":"assistant"},"finish_reason":null}`, "")}
	for index := range 16 {
		all = append(all, chunk(fmt.Sprintf(`{"index":0,"delta":{"content":" word%d"},"finish_reason":null}`, index), ""))
	}
	end := chunk(`{"index":0,"delta":{},"finish_reason":"stop"}`, "")
	usage := chunk("", `,"usage":{"prompt_tokens":9,"completion_tokens":16,"total_tokens":25}`)
	return append(all, end, usage+"data: [DONE]\n\n")
}

// The same answer in one piece.
func whole() string {
	content := ""
	for index := range 16 {
		content += fmt.Sprintf(" word%d", index)
	}
	return `{"id":"x","object":"chat.completion","created":0,"model":"fake","choices":[{"index":0,"message":{"role":"assistant","content":"` + content +
		`"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":16,"total_tokens":25}}`
}

// An OpenAI server that answers at once: as a stream each piece in a write of its own, else in one.
func serve() {
	answer, document := pieces(), whole()
	http.HandleFunc("/v1/models", func(response http.ResponseWriter, _ *http.Request) {
		response.Header().Set("content-type", "application/json")
		io.WriteString(response, `{"object":"list","data":[{"id":"fake","object":"model"}]}`)
	})
	http.HandleFunc("/v1/chat/completions", func(response http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		if !bytes.Contains(body, []byte(`"stream":true`)) {
			response.Header().Set("content-type", "application/json")
			io.WriteString(response, document)
			return
		}
		response.Header().Set("content-type", "text/event-stream")
		for _, piece := range answer {
			io.WriteString(response, piece)
			response.(http.Flusher).Flush()
		}
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail(err)
	}
	fmt.Printf("{\"url\":\"http://%s\"}\n", listener.Addr())
	// Whoever started it has gone when its standard input ends.
	go func() { io.Copy(io.Discard, os.Stdin); os.Exit(0) }()
	fail(http.Serve(listener, nil))
}

// Asks one request after the other on each connection until the time is up.
func shoot(url string, connections, seconds int) {
	body, err := io.ReadAll(bufio.NewReader(os.Stdin))
	if err != nil {
		fail(err)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections, DisableCompression: true}}
	deadline := time.Now().Add(time.Duration(seconds) * time.Second)
	took := make([][]float64, connections)
	var group sync.WaitGroup
	for index := range connections {
		group.Add(1)
		go func() {
			defer group.Done()
			for time.Now().Before(deadline) {
				took[index] = append(took[index], ask(client, url, body))
			}
		}()
	}
	group.Wait()
	tell(took, seconds)
}

// Milliseconds of one request, from its beginning to the last byte of its answer.
func ask(client *http.Client, url string, body []byte) float64 {
	begun := time.Now()
	response, err := client.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		fail(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		fail(err)
	}
	if response.StatusCode != http.StatusOK {
		fail(fmt.Errorf("status %d", response.StatusCode))
	}
	return float64(time.Since(begun).Microseconds()) / 1000
}

func tell(took [][]float64, seconds int) {
	all := []float64{}
	for _, each := range took {
		all = append(all, each...)
	}
	sort.Float64s(all)
	result := map[string]float64{"perSecond": float64(len(all)) / float64(seconds), "p50": all[len(all)/2]}
	json.NewEncoder(os.Stdout).Encode(result)
}
