// Command promql evaluates PromQL with the engine of Prometheus itself, for the tests of this directory's parent:
// queries and alert expressions on what was scraped from an operator, and alert rules on made-up series. It is a
// module of its own, so that Prometheus is no dependency of the operator.
//
//	promql -scrapes DIR -labels namespace=x,job=y [-queries FILE] [-rules FILE]    prints what each expression returns, as JSON
//	promql -rules FILE -cases FILE                                                 prints which cases fail
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "promql:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("promql", flag.ContinueOnError)
	scrapes := flags.String("scrapes", "", "directory of scraped texts, in the order of their names")
	labels := flags.String("labels", "", "labels that a scrape adds, as in a=b,c=d")
	queries := flags.String("queries", "", "file with queries, a JSON object of names and expressions")
	rules := flags.String("rules", "", "rule file")
	cases := flags.String("cases", "", "file with cases for the rules")
	if err := flags.Parse(args); err != nil {
		return err
	}
	language := parser.NewParser(parser.Options{})
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 10_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute,
		EnableAtModifier: true, EnableNegativeOffset: true, Parser: language,
	})
	if *cases != "" {
		return runCases(ctx, engine, language, *rules, *cases, out)
	}
	if *scrapes == "" {
		return errors.New("neither scrapes nor cases: see the source for usage")
	}
	data, last, err := readScrapes(*scrapes, *labels)
	if err != nil {
		return err
	}
	expressions := map[string]string{}
	if *queries != "" {
		content, err := os.ReadFile(*queries)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(content, &expressions); err != nil {
			return fmt.Errorf("%s: %w", *queries, err)
		}
	}
	if *rules != "" {
		alerts, err := readAlerts(*rules, language)
		if err != nil {
			return err
		}
		for name, a := range alerts {
			expressions["alert "+name] = a.Expr
		}
	}
	results := map[string]result{}
	for name, expression := range expressions {
		results[name] = evaluate(ctx, engine, language, data, expression, last)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", " ")
	return encoder.Encode(results)
}

// result is what an expression returned at the time of the last scrape.
type result struct {
	Series int    `json:"series"`
	Error  string `json:"error,omitempty"`
	// Missing are the selectors in the expression without a scraped series.
	Missing []string `json:"missing,omitempty"`
}

func evaluate(
	ctx context.Context, engine *promql.Engine, language parser.Parser, data *memory, expression string, at time.Time,
) result {
	parsed, err := language.ParseExpr(expression)
	if err != nil {
		return result{Error: err.Error()}
	}
	r := result{Missing: data.missing(parsed)}
	query, err := engine.NewInstantQuery(ctx, data, nil, expression, at)
	if err != nil {
		return result{Error: err.Error()}
	}
	defer query.Close()
	answer := query.Exec(ctx)
	if answer.Err != nil {
		return result{Error: answer.Err.Error()}
	}
	switch value := answer.Value.(type) {
	case promql.Vector:
		r.Series = len(value)
	case promql.Matrix:
		r.Series = len(value)
	default:
		r.Series = 1
	}
	return r
}
