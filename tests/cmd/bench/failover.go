package main

import (
	"context"
	"fmt"
	"time"

	"github.com/rancher/helm-locker/tests/lib/process"
)

// failover measures the time until a standby reverts drift after the end of the leader.
func (b *bench) failover(ctx context.Context) error {
	w, err := b.world(ctx, "failover", 1, 10)
	if err != nil {
		return err
	}
	if err := b.operator.Stop(); err != nil {
		return err
	}
	lease := []string{"--lease-duration", b.Lease.String()}
	leader, standby := b.newProgram(b.operator.Log, lease...), b.newProgram(b.operator.Log, lease...)
	leader.Pprof, standby.Pprof = false, false // they would share a port
	defer func() {
		b.operator = leader // for the end of the stage
	}()
	if err := leader.Start(ctx); err != nil {
		return err
	}
	if _, err := b.lock(ctx, w); err != nil {
		return err
	}
	var graceful, ended, killed []time.Duration
	for round := range b.Failovers + b.Kills {
		progress("failover %d of %d", round+1, b.Failovers+b.Kills)
		if err := standby.Start(ctx); err != nil {
			return err
		}
		if err := process.Sleep(ctx, pause); err != nil { // its locks are complete, and it has looked at the lease
			return err
		}
		begun := time.Now()
		stop := leader.Stop
		if round >= b.Failovers {
			stop = leader.Kill
		}
		if err := stop(); err != nil {
			return err
		}
		gone := time.Since(begun)
		lived, err := b.once(ctx, w.locked[round%len(w.locked)], b.drift)
		if err != nil {
			return fmt.Errorf("failover %d: %w", round+1, err)
		}
		if round < b.Failovers {
			graceful, ended = append(graceful, lived), append(ended, gone)
		} else {
			killed = append(killed, lived)
		}
		leader, standby = standby, leader
	}
	b.section.graceful(graceful, ended)
	b.section.killed(killed, b.Lease)
	return nil
}
