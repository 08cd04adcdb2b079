// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

const (
	handshakes  = 50  // at a time
	mostSession = 200 // KiB of zood's memory
)

// many opens `count` exec sessions at once, half of them over WebSocket and half over SPDY, waits until all of them have
// echoed, looks at zood's memory, and lets them end.
func many(ctx context.Context, p *pod, count, pid int) error {
	before := resident(pid)
	var all sync.WaitGroup
	var lock sync.Mutex
	var failures []error
	failed := func(i int, err error) {
		lock.Lock()
		defer lock.Unlock()
		if len(failures) < 5 {
			failures = append(failures, fmt.Errorf("session %d: %w", i, err))
		}
	}
	slots := make(chan struct{}, handshakes)
	sessions := make([]*session, count)
	for i := range count {
		all.Add(1)
		slots <- struct{}{}
		go func() {
			defer func() { <-slots; all.Done() }()
			message := fmt.Sprintf("session %d\n", i)
			made, err := p.echo(ctx, protocols[i%2], message)
			if err != nil {
				failed(i, err)
				return
			}
			go func() { _, _ = made.feed.Write([]byte(message)) }()
			echoed := make(chan error, 1)
			go func() { echoed <- made.out.wait() }()
			select {
			case err := <-echoed:
				if err != nil {
					failed(i, err)
				}
				sessions[i] = made
			case err := <-made.end: // refused, most likely: why is worth more than that nothing came
				failed(i, fmt.Errorf("ended before it began: %w", err))
			}
		}()
	}
	all.Wait()
	during := resident(pid)
	fmt.Printf("%d sessions open at once: zood's memory %d KiB before, %d KiB now, %.1f KiB a session\n", count-len(failures), before,
		during, float64(during-before)/float64(count))
	if during-before > mostSession*count {
		failures = append(failures, errors.New("that is too much"))
	}
	for i, each := range sessions {
		if each == nil {
			continue
		}
		_ = each.feed.Close() // the end of its input is the end of the command
		if err := <-each.end; err != nil {
			failed(i, err)
		}
	}
	return errors.Join(failures...)
}
