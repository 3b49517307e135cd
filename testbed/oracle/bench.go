package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Figures of one run. The digest is over every result in the order of the directories' names.
type Figures struct {
	Directories int     `json:"directories"`
	Failed      int     `json:"failed"`
	Bytes       int     `json:"bytes"`
	Wall        float64 `json:"wall_seconds"`
	CPU         float64 `json:"cpu_seconds"`
	PeakKiB     int64   `json:"peak_kib"`
	Digest      string  `json:"sha256"`
}

func bench(root string, threads int) error {
	started := time.Now()
	var directories []string
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		for _, name := range konfig.RecognizedKustomizationFileNames() {
			if _, err := os.Stat(filepath.Join(path, name)); err == nil {
				directories = append(directories, path)
				break
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	sums := make([][sha256.Size]byte, len(directories))
	var figures Figures
	var counted sync.Mutex
	next := make(chan int)
	var workers sync.WaitGroup
	for range threads {
		workers.Go(func() {
			for index := range next {
				text, err := build(filesys.MakeFsOnDisk(), directories[index], options(Job{}))
				counted.Lock()
				if err != nil {
					figures.Failed++
				}
				figures.Bytes += len(text)
				counted.Unlock()
				sums[index] = sha256.Sum256([]byte(text))
			}
		})
	}
	for index := range directories {
		next <- index
	}
	close(next)
	workers.Wait()
	figures.Wall = time.Since(started).Seconds()
	figures.Directories = len(directories)
	whole := sha256.New()
	for _, sum := range sums {
		whole.Write(sum[:])
	}
	figures.Digest = fmt.Sprintf("%x", whole.Sum(nil))
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return err
	}
	seconds := func(time syscall.Timeval) float64 { return float64(time.Sec) + float64(time.Usec)/1e6 }
	figures.CPU = seconds(usage.Utime) + seconds(usage.Stime)
	figures.PeakKiB = usage.Maxrss
	return json.NewEncoder(os.Stdout).Encode(figures)
}
