package report

import (
	"image/color"
	"io"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Sizes of the plot: a row is a way.
const (
	plotWidth = 9 * vg.Inch
	rowHeight = 0.42 * vg.Inch
	plotFrame = 1.1 * vg.Inch // what titles and the axis take
)

// Plot writes an SVG with a point for each job, on a logarithmic scale of time, and a line at each way's median.
func (r *Report) Plot(to io.Writer) error {
	p := plot.New()
	p.Title.Text = "From a job to spec.replicas = 1"
	p.X.Label.Text = "each point is a job, each bar a median"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.TickerFunc(decades)
	for _, style := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label} {
		style.Font.Variant = "Sans"
	}
	p.Title.Padding = vg.Points(8)
	p.Add(plotter.NewGrid())
	var names []string
	for _, w := range slices.Backward(r.Wakes) { // the first one on top
		if err := w.addTo(p, float64(len(names))); err != nil {
			return err
		}
		names = append(names, w.Name)
	}
	p.NominalY(names...)
	p.Y.Min, p.Y.Max = -0.6, float64(len(names))-0.4
	p.X.Min, p.X.Max = p.X.Min*0.8, p.X.Max*1.25
	canvas := vgsvg.New(plotWidth, plotFrame+rowHeight*vg.Length(len(names)))
	// Who looks may have a wider font than the one that was measured with.
	p.Draw(draw.Crop(draw.New(canvas), vg.Points(36), -vg.Points(24), vg.Points(8), -vg.Points(8)))
	_, err := canvas.WriteTo(to)
	return err
}

// addTo draws a way into a row.
func (w *Way) addTo(p *plot.Plot, row float64) error {
	if len(w.Took) == 0 {
		return nil
	}
	points := make(plotter.XYs, len(w.Took))
	for i, d := range w.Took {
		// Multiples of the golden ratio fill the row evenly, and are the same ones each time.
		_, spread := math.Modf(float64(i) * math.Phi)
		points[i] = plotter.XY{X: d.Seconds(), Y: row + (spread-0.5)*0.5}
	}
	jobs, err := plotter.NewScatter(points)
	if err != nil {
		return err
	}
	colour := colours[w.Kind]
	jobs.GlyphStyle = draw.GlyphStyle{Color: colour, Radius: vg.Points(1.6), Shape: draw.CircleGlyph{}}
	median, err := plotter.NewLine(plotter.XYs{{X: w.Median(), Y: row - 0.4}, {X: w.Median(), Y: row + 0.4}})
	if err != nil {
		return err
	}
	median.LineStyle = draw.LineStyle{Color: colour, Width: vg.Points(2.5)}
	p.Add(jobs, median)
	return nil
}

// colours are told apart by those who see fewer of them, too.
var colours = map[Kind]color.Color{
	Floor: color.NRGBA{R: 0x77, G: 0x77, B: 0x77, A: 0xb0},
	Ours:  color.NRGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xb0},
	Peer:  color.NRGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xb0},
}

// decades marks the powers of ten, as people write them, and between them what has no name.
func decades(least, most float64) []plot.Tick {
	var ticks []plot.Tick
	for exponent := math.Floor(math.Log10(least)); exponent <= math.Ceil(math.Log10(most)); exponent++ {
		for digit := range 9 {
			value := math.Pow(10, exponent) * float64(digit+1)
			if value < least || value > most {
				continue
			}
			tick := plot.Tick{Value: value}
			if digit == 0 {
				tick.Label = time.Duration(math.Round(value * float64(time.Second))).String()
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}
