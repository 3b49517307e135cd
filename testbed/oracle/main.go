// Command oracle answers what kustomize and Flux make of a directory. It is built from their own
// packages and serves the tests of the native engine only.
//
//	oracle [-threads N]            answers jobs, one JSON object per line, in any order
//	oracle bench [-threads N] DIR  builds every directory below DIR that has a kustomization file
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
)

// Job is one question.
type Job struct {
	// ID comes back with the answer.
	ID json.RawMessage `json:"id,omitempty"`
	// Mode is kustomize, flux or envsubst.
	Mode string `json:"mode"`
	// Dir is what to build. With Flux it is relative to Root.
	Dir string `json:"dir,omitempty"`
	// Root is the repository's root, for Flux.
	Root string `json:"root,omitempty"`
	// Reorder is legacy, none, or nothing.
	Reorder string `json:"reorder,omitempty"`
	// LoadRestrictions is rootOnly (if nothing is said) or none.
	LoadRestrictions string `json:"loadRestrictions,omitempty"`
	// Exclusive builds need the global schema for themselves; found out from the files if not said.
	Exclusive bool `json:"exclusive,omitempty"`
	// Kustomization is the Flux object.
	Kustomization map[string]any `json:"kustomization,omitempty"`
	// Objects are the ConfigMaps and Secrets of the cluster.
	Objects []map[string]any `json:"objects,omitempty"`
	// Text is what to substitute in.
	Text string `json:"text,omitempty"`
	// Vars are the variables.
	Vars map[string]string `json:"vars,omitempty"`
	// Strict refuses variables that are not set.
	Strict bool `json:"strict,omitempty"`
}

// Answer is what upstream says to it.
type Answer struct {
	ID    json.RawMessage `json:"id,omitempty"`
	OK    bool            `json:"ok"`
	YAML  string          `json:"yaml"`
	Error string          `json:"error,omitempty"`
}

func answer(job Job) (result Answer) {
	result.ID = job.ID
	defer func() {
		if cause := recover(); cause != nil {
			result = Answer{ID: job.ID, Error: fmt.Sprintf("panic: %v", cause)}
		}
	}()
	var text string
	var err error
	switch job.Mode {
	case "", "kustomize":
		text, err = kustomize(job)
	case "flux":
		text, err = flux(job)
	case "envsubst":
		text, err = substitute(job)
	default:
		err = fmt.Errorf("unknown mode %q", job.Mode)
	}
	if err != nil {
		result.Error = err.Error()
		return result
	}
	result.OK, result.YAML = true, text
	return result
}

func serve(input io.Reader, output io.Writer, threads int) error {
	lines := make(chan []byte)
	out := bufio.NewWriter(output)
	var written sync.Mutex
	var workers sync.WaitGroup
	for range threads {
		workers.Go(func() {
			for line := range lines {
				var job Job
				var result Answer
				if err := json.Unmarshal(line, &job); err != nil {
					result.Error = "not a job: " + err.Error()
				} else {
					result = answer(job)
				}
				text, err := json.Marshal(result)
				if err != nil {
					text, _ = json.Marshal(Answer{ID: job.ID, Error: err.Error()})
				}
				written.Lock()
				_, _ = out.Write(append(text, '\n'))
				_ = out.Flush()
				written.Unlock()
			}
		})
	}
	reader := bufio.NewReader(input)
	var failed error
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 1 {
			lines <- line
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			failed = err
			break
		}
	}
	close(lines)
	workers.Wait()
	return failed
}

func main() {
	arguments := os.Args[1:]
	benchmark := len(arguments) > 0 && arguments[0] == "bench"
	if benchmark {
		arguments = arguments[1:]
	}
	flags := flag.NewFlagSet("oracle", flag.ExitOnError)
	threads := flags.Int("threads", runtime.NumCPU(), "how many jobs at once")
	_ = flags.Parse(arguments)
	var err error
	if benchmark {
		err = bench(flags.Arg(0), *threads)
	} else {
		preload()
		err = serve(os.Stdin, os.Stdout, *threads)
		cleanUp()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
