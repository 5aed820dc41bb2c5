package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
	"github.com/go-json-experiment/json/jsontext"
)

// work is what the main thread of the page did during a trace, in milliseconds. Script and All are processor time, not
// elapsed time: other work on the machine does not stretch them.
type work struct {
	// Script is the time of scripts, with the work of the browser on their behalf.
	Script float64 `json:"script"`
	// All is Script with parsing, styles, layout and painting.
	All float64 `json:"all"`
	// Paint is when the first content was painted, by the clock, after the navigation began.
	Paint float64 `json:"paint"`
}

// traceEvent is an event of the trace format of Chromium; times are in microseconds.
type traceEvent struct {
	Name    string  `json:"name"`
	Phase   string  `json:"ph"`
	Process int     `json:"pid"`
	Thread  int     `json:"tid"`
	Begin   float64 `json:"ts"`
	Length  float64 `json:"dur"`
	// OnProcessor is how much of Length the thread ran.
	OnProcessor *float64 `json:"tdur"`
	Args        struct {
		Name string `json:"name"`
	} `json:"args"`
}

// scripts are the events in which scripts run.
var scripts = []string{"EvaluateScript", "v8.compile", "v8.compileModule", "v8.evaluateModule", "FunctionCall",
	"RunMicrotasks", "EventDispatch", "TimerFire", "FireAnimationFrame"}

func (d *driver) trace(ctx context.Context) error {
	d.mu.Lock()
	d.recorded, d.complete = nil, make(chan struct{})
	d.mu.Unlock()
	return chromedp.Run(ctx, tracing.Start().WithTraceConfig(&tracing.TraceConfig{
		RecordMode:         tracing.RecordModeRecordUntilFull,
		IncludedCategories: []string{"devtools.timeline", "loading", "blink.user_timing"},
		ExcludedCategories: []string{"*"},
	}))
}

func (d *driver) traced(ctx context.Context) (json.RawMessage, error) {
	if err := chromedp.Run(ctx, tracing.End()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	complete := d.complete
	d.mu.Unlock()
	select {
	case <-complete:
	case <-time.After(stepTimeout):
		return nil, fmt.Errorf("the trace does not end")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return json.Marshal(workOf(d.recorded))
}

// record keeps events of a trace. Those with other arguments than expected are none that matter.
func (d *driver) record(events []jsontext.Value) {
	for _, raw := range events {
		var event traceEvent
		if json.Unmarshal(raw, &event) == nil {
			d.recorded = append(d.recorded, event)
		}
	}
}

// workOf sums up the events of main threads. An event within another one is part of it.
func workOf(events []traceEvent) work {
	type thread struct{ process, thread int }
	main := map[thread]bool{}
	for _, e := range events {
		if e.Name == "thread_name" && e.Args.Name == "CrRendererMain" {
			main[thread{e.Process, e.Thread}] = true
		}
	}
	slices.SortStableFunc(events, func(a, b traceEvent) int {
		switch {
		case a.Begin < b.Begin:
			return -1
		case a.Begin > b.Begin:
			return 1
		}
		return 0
	})
	var w work
	var navigated, allUntil, scriptUntil float64
	for _, e := range events {
		switch {
		case e.Name == "navigationStart":
			navigated = e.Begin
		case e.Name == "firstContentfulPaint" && w.Paint == 0:
			w.Paint = (e.Begin - navigated) / 1000
		case e.Phase == "X" && main[thread{e.Process, e.Thread}]:
			took := e.Length
			if e.OnProcessor != nil {
				took = *e.OnProcessor
			}
			if e.Begin >= allUntil {
				allUntil = e.Begin + e.Length
				w.All += took / 1000
			}
			if slices.Contains(scripts, e.Name) && e.Begin >= scriptUntil {
				scriptUntil = e.Begin + e.Length
				w.Script += took / 1000
			}
		}
	}
	return w
}
