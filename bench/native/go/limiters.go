// Go limiters on one bucket shared by all threads, measured like the loop of loop.cpp: the threads warm
// up, wait for a gate, and then call for some time.
//
//	limiters rate|juju THREADS RATE BURST INITIAL WARM_UP_MS MEASURE_MS
//
// Prints { "calls", "admitted", "elapsedNs" } as JSON, each summed over the threads.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/juju/ratelimit"
	"golang.org/x/time/rate"
)

const callsPerLook = 512

type counts struct {
	Calls     int64 `json:"calls"`
	Admitted  int64 `json:"admitted"`
	ElapsedNs int64 `json:"elapsedNs"`
}

// A consumer calls a limiter in a loop for some time. Each limiter has its own consumer, so that the
// call is direct.
type consumer func(length time.Duration) counts

func consumeRate(perSecond float64, burst, initial int64) consumer {
	limiter := rate.NewLimiter(rate.Limit(perSecond), int(burst))
	limiter.AllowN(time.Now(), int(burst-initial))
	return func(length time.Duration) (sum counts) {
		start := time.Now()
		for sum.ElapsedNs < length.Nanoseconds() {
			for i := 0; i < callsPerLook; i++ {
				if limiter.Allow() {
					sum.Admitted++
				}
			}
			sum.Calls += callsPerLook
			sum.ElapsedNs = time.Since(start).Nanoseconds()
		}
		return sum
	}
}

func consumeJuju(perSecond float64, burst, initial int64) consumer {
	bucket := ratelimit.NewBucketWithRate(perSecond, burst)
	bucket.TakeAvailable(burst - initial)
	return func(length time.Duration) (sum counts) {
		start := time.Now()
		for sum.ElapsedNs < length.Nanoseconds() {
			for i := 0; i < callsPerLook; i++ {
				sum.Admitted += bucket.TakeAvailable(1)
			}
			sum.Calls += callsPerLook
			sum.ElapsedNs = time.Since(start).Nanoseconds()
		}
		return sum
	}
}

var limiters = map[string]func(perSecond float64, burst, initial int64) consumer{
	"rate": consumeRate,
	"juju": consumeJuju,
}

func number(word string) float64 {
	value, err := strconv.ParseFloat(word, 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return value
}

func milliseconds(word string) time.Duration {
	return time.Duration(number(word) * float64(time.Millisecond))
}

func main() {
	if len(os.Args) != 8 || limiters[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: limiters rate|juju THREADS RATE BURST INITIAL WARM_UP_MS MEASURE_MS")
		os.Exit(2)
	}
	threads := int(number(os.Args[2]))
	consume := limiters[os.Args[1]](number(os.Args[3]), int64(number(os.Args[4])), int64(number(os.Args[5])))
	warmUp, measure := milliseconds(os.Args[6]), milliseconds(os.Args[7])

	// Each goroutine has its own thread, and all of them run at the same time.
	if threads > runtime.NumCPU() {
		runtime.GOMAXPROCS(threads)
	}
	var warm, done sync.WaitGroup
	warm.Add(threads)
	done.Add(threads)
	gate := make(chan struct{})
	each := make([]counts, threads)
	for i := range each {
		go func(own *counts) {
			runtime.LockOSThread()
			consume(warmUp)
			warm.Done()
			<-gate
			*own = consume(measure)
			done.Done()
		}(&each[i])
	}
	warm.Wait()
	close(gate)
	done.Wait()

	var sum counts
	for _, one := range each {
		sum.Calls += one.Calls
		sum.Admitted += one.Admitted
		sum.ElapsedNs += one.ElapsedNs
	}
	json.NewEncoder(os.Stdout).Encode(sum)
}
