// The same programs in Go: one measurement a call, printed as `name value`.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

type page [8192]byte

func number(at int) int {
	n, err := strconv.Atoi(os.Args[at])
	if err != nil {
		panic(err)
	}
	return n
}

func resident() float64 {
	text, _ := os.ReadFile("/proc/self/statm")
	pages, _ := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	return pages * float64(os.Getpagesize())
}

func stream(capacity, count int) {
	c := make(chan uint64, capacity)
	done := make(chan uint64)
	start := time.Now()
	go func() {
		for n := 0; n < count; n++ {
			c <- uint64(n)
		}
		close(c)
	}()
	go func() {
		var sum uint64
		for n := range c {
			sum += n
		}
		done <- sum
	}()
	<-done
	fmt.Println("ns", float64(time.Since(start).Nanoseconds())/float64(count))
}

func pingpong(count int) {
	a, b, done := make(chan uint64), make(chan uint64), make(chan bool)
	start := time.Now()
	go func() {
		for n := 0; n < count; n++ {
			a <- uint64(n)
			<-b
		}
		done <- true
	}()
	go func() {
		for n := 0; n < count; n++ {
			b <- <-a
		}
	}()
	<-done
	fmt.Println("ns", float64(time.Since(start).Nanoseconds())/float64(2*count))
}

func pages(count int) {
	a, b, done := make(chan *page), make(chan *page), make(chan bool)
	start := time.Now()
	go func() {
		p := new(page)
		for n := 0; n < count; n++ {
			p[0]++
			a <- p
			p = <-b
		}
		done <- true
	}()
	go func() {
		for n := 0; n < count; n++ {
			p := <-a
			p[1]++
			b <- p
		}
	}()
	<-done
	fmt.Println("ns", float64(time.Since(start).Nanoseconds())/float64(2*count))
}

func sieve(capacity, primes int) {
	start := time.Now()
	c := make(chan uint64, capacity)
	go func(c chan uint64) {
		for n := uint64(2); ; n++ {
			c <- n
		}
	}(c)
	var prime uint64
	for i := 1; ; i++ {
		prime = <-c
		if i == primes {
			break
		}
		next := make(chan uint64, capacity)
		go func(in, out chan uint64, prime uint64) {
			for {
				if n := <-in; n%prime != 0 {
					out <- n
				}
			}
		}(c, next, prime)
		c = next
	}
	fmt.Println("s", time.Since(start).Seconds(), "prime", prime)
}

func ring(processes, rounds int) {
	before := resident()
	first := make(chan uint64, 1)
	done := make(chan bool)
	in := first
	for i := 0; i < processes; i++ {
		out := first
		if i+1 < processes {
			out = make(chan uint64, 1)
		}
		go func(i int, in, out chan uint64) {
			for r := 0; r < rounds; r++ {
				n := <-in
				if i+1 == processes && r+1 == rounds {
					done <- true
					return
				}
				out <- n + 1
			}
		}(i, in, out)
		in = out
	}
	runtime.Gosched()
	time.Sleep(200 * time.Millisecond)
	after := resident()
	start := time.Now()
	first <- 0
	<-done
	hops := float64(processes) * float64(rounds)
	fmt.Println("bytes", (after-before)/float64(processes), "ns", float64(time.Since(start).Nanoseconds())/hops)
}

func main() {
	switch os.Args[1] {
	case "stream":
		stream(number(2), number(3))
	case "pingpong":
		pingpong(number(2))
	case "pages":
		pages(number(2))
	case "sieve":
		sieve(number(2), number(3))
	case "ring":
		ring(number(2), number(3))
	}
}
