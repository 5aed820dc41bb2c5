package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// plot is a line diagram. It is written as SVG for light and dark pages.
type plot struct {
	title, x, y string
	// logX and logY make an axis logarithmic.
	logX, logY bool
	lines      []line
}

// line is one curve of a plot. Values must be positive where the axis is logarithmic.
type line struct {
	name   string
	colour string
	dashed bool
	// dots marks every point.
	dots bool
	x, y []float64
}

// Colours with enough contrast on light and on dark, also for people with red-green blindness.
const (
	colourFloor    = "#7f8c8d"
	colourOperator = "#0072b2"
	colourSecond   = "#d55e00"
	colourThird    = "#009e73"
)

// Attributes for the alignment of a text.
const (
	anchorStart  = `text-anchor="start"`
	anchorMiddle = `text-anchor="middle"`
	anchorEnd    = `text-anchor="end"`
)

const (
	plotWidth, plotHeight           = 640, 360
	marginLeft, marginRight         = 64, 16
	marginTop, marginBottom         = 36, 48
	legendRow, legendLine           = 16, 22
	tickLength                      = 4
	ink                             = "#888"
	innerWidth              float64 = plotWidth - marginLeft - marginRight
	innerHeight             float64 = plotHeight - marginTop - marginBottom
)

// svg returns the plot as an SVG document; it ends with the note.
func (p plot) svg(note string) string {
	x, y := p.axis(p.logX, func(l line) []float64 { return l.x }), p.axis(p.logY, func(l line) []float64 { return l.y })
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="11" fill="%s">`,
		plotWidth, plotHeight+legendRow, plotWidth, plotHeight+legendRow, ink)
	fmt.Fprintf(&b, "\n<title>%s</title>\n", html.EscapeString(p.title))
	text(&b, plotWidth/2, 16, p.title, anchorMiddle+` font-size="13" font-weight="bold"`)
	for _, t := range x.ticks() {
		at := marginLeft + x.place(t)*innerWidth
		rule(&b, at, marginTop, at, marginTop+innerHeight+tickLength)
		text(&b, at, marginTop+innerHeight+16, tickLabel(t), anchorMiddle)
	}
	for _, t := range y.ticks() {
		at := marginTop + (1-y.place(t))*innerHeight
		rule(&b, marginLeft-tickLength, at, marginLeft+innerWidth, at)
		text(&b, marginLeft-6, at+4, tickLabel(t), anchorEnd)
	}
	text(&b, marginLeft+innerWidth/2, plotHeight-14, p.x, anchorMiddle)
	text(&b, 14, marginTop+innerHeight/2, p.y,
		fmt.Sprintf(anchorMiddle+` transform="rotate(-90 14 %g)"`, marginTop+innerHeight/2))
	for i, l := range p.lines {
		l.draw(&b, x, y)
		at := float64(marginTop + 12 + i*legendRow)
		fmt.Fprintf(&b, `<path d="M%d %g h%d" stroke="%s" stroke-width="2"%s/>`+"\n", marginLeft+
			12, at-4, legendLine, l.colour, l.dashes())
		text(&b, marginLeft+12+legendLine+6, at, l.name, anchorStart)
	}
	text(&b, plotWidth/2, plotHeight+8, note, anchorMiddle+` font-size="9"`)
	b.WriteString("</svg>\n")
	return b.String()
}

func (l line) dashes() string {
	if l.dashed {
		return ` stroke-dasharray="5 4"`
	}
	return ""
}

func (l line) draw(b *strings.Builder, x, y axis) {
	var path strings.Builder
	for i := range l.x {
		px, py := marginLeft+x.place(l.x[i])*innerWidth, marginTop+(1-y.place(l.y[i]))*innerHeight
		fmt.Fprintf(&path, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[i == 0], px, py)
		if l.dots {
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", px, py, l.colour)
		}
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", path.String(), l.colour, l.dashes())
}

func text(b *strings.Builder, x, y float64, s, attributes string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" %s>%s</text>`+"\n", x, y, attributes, html.EscapeString(s))
}

func rule(b *strings.Builder, x1, y1, x2, y2 float64) {
	fmt.Fprintf(b, `<path d="M%.1f %.1fL%.1f %.1f" stroke="%s" stroke-opacity="0.3"/>`+"\n", x1, y1, x2, y2, ink)
}

// axis is a range of values, from low to high.
type axis struct {
	log       bool
	low, high float64
}

// axis returns the range for all values of the lines in whole steps of 1, 2, 5, 10. A linear one begins at zero, a
// logarithmic one below the least value.
func (p plot) axis(logarithmic bool, of func(line) []float64) axis {
	a := axis{log: logarithmic, low: math.Inf(1), high: math.Inf(-1)}
	for _, l := range p.lines {
		for _, v := range of(l) {
			a.low, a.high = min(a.low, v), max(a.high, v)
		}
	}
	if math.IsInf(a.low, 1) {
		a.low, a.high = 1, 10
	}
	if !logarithmic {
		step := step(a.high)
		a.low, a.high = 0, math.Ceil(a.high/step)*step
		return a
	}
	a.low, a.high = roundTo125(a.low, false), roundTo125(a.high, true)
	if a.low == a.high {
		a.high *= 10
	}
	return a
}

// place returns where a value is: 0 at the low end, 1 at the high one.
func (a axis) place(v float64) float64 {
	if a.log {
		return math.Log(v/a.low) / math.Log(a.high/a.low)
	}
	return (v - a.low) / (a.high - a.low)
}

// ticks returns the values to name: steps of 1, 2, 5, 10, or whole tens where these would be many.
func (a axis) ticks() []float64 {
	var all []float64
	if !a.log {
		step := step(a.high)
		for i := range int(math.Round(a.high/step)) + 1 {
			all = append(all, float64(i)*step)
		}
		return all
	}
	few := a.high/a.low > 2000
	for exponent := math.Floor(math.Log10(a.low)); ; exponent++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, exponent)
			if v > a.high*1.0001 {
				return all
			}
			if v >= a.low*0.9999 && (m == 1 || !few) {
				all = append(all, v)
			}
		}
	}
}

// step returns a step of 1, 2 or 5 times a power of ten that divides the range up to high into five to ten parts.
func step(high float64) float64 {
	if high <= 0 {
		return 1
	}
	return roundTo125(high/10, true)
}

// roundTo125 rounds v up or down to 1, 2 or 5 times a power of ten.
func roundTo125(v float64, up bool) float64 {
	if v <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	best := power
	for _, m := range []float64{1, 2, 5, 10} {
		candidate := m * power
		if up && candidate >= v*0.9999 {
			return candidate
		}
		if candidate <= v*1.0001 {
			best = candidate
		}
	}
	return best
}

func tickLabel(v float64) string {
	if v >= 10000 {
		return fmt.Sprintf("%gk", v/1000)
	}
	return fmt.Sprintf("%g", math.Round(v*1e6)/1e6)
}
