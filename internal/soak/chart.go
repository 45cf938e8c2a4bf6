package soak

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Table writes verdicts for people, with a small picture of each series.
func Table(verdicts []Verdict) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tsecond quarter\tlast quarter\tratio\tper hour\t\tfrom 0")
	for _, v := range verdicts {
		word := "flat"
		if !v.Flat {
			word = "GROWS"
		}
		u := v.Series.Unit
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", v.Series.Name, u.Show(v.Early), u.Show(v.Late), ratio(v.Early, v.Late),
			signed(u, v.PerHour), word, Spark(v.Series.Values, 40))
	}
	_ = w.Flush() // a Builder takes everything
	return b.String()
}

func ratio(early, late float64) string {
	if early == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f×", late/early)
}

func signed(u Unit, v float64) string {
	if v < 0 {
		return "−" + u.Show(-v)
	}
	return "+" + u.Show(v)
}

// Spark draws values from 0 to their peak in a line of text of at most so many characters, each the median of its share.
func Spark(values []float64, width int) string {
	const bars = "▁▂▃▄▅▆▇█"
	levels := []rune(bars)
	points := resample(values, width)
	if len(points) == 0 {
		return ""
	}
	peak := slices.Max(points)
	var b strings.Builder
	for _, p := range points {
		level := 0
		if peak > 0 {
			level = int(max(0, p) / peak * float64(len(levels)-1))
		}
		b.WriteRune(levels[level])
	}
	return b.String()
}

// resample returns at most n values, each the median of its share.
func resample(values []float64, n int) []float64 {
	n = min(n, len(values))
	points := make([]float64, n)
	for i := range points {
		points[i] = median(values[i*len(values)/n : (i+1)*len(values)/n])
	}
	return points
}

// Sizes of a plot, in pixels.
const (
	plotWidth  = 720
	plotHeight = 60
	plotGap    = 34
	plotPoints = 360
)

// SVG draws each series from 0 to its peak, one below the other, with the two quarters that are compared shaded.
func SVG(all []Series, lasted time.Duration) string {
	var b strings.Builder
	height := len(all)*(plotHeight+plotGap) + plotGap
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n",
		plotWidth, height)
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	for i := range all {
		s := &all[i]
		top := i*(plotHeight+plotGap) + plotGap
		for _, quarter := range []int{1, 3} {
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" fill="#eef3f8"/>`+"\n",
				quarter*plotWidth/4, top, plotWidth/4, plotHeight)
		}
		points := resample(s.Values, plotPoints)
		if len(points) == 0 {
			continue
		}
		peak := max(slices.Max(points), 1)
		fmt.Fprintf(&b, `<text x="2" y="%d">%s, 0 to %s over %s</text>`+"\n",
			top-6, html.EscapeString(s.Name), s.Unit.Show(peak), lasted.Round(time.Second))
		b.WriteString(`<polyline fill="none" stroke="#1f5f9f" stroke-width="1.5" points="`)
		for j, p := range points {
			x := float64(plotWidth) * float64(j) / float64(max(1, len(points)-1))
			fmt.Fprintf(&b, "%.1f,%.1f ", x, float64(top+plotHeight)-p/peak*plotHeight)
		}
		b.WriteString(`"/>` + "\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}
