package scaler_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/leadsman/leadsman/storage/memory"
)

// What is said to somebody whose request is wrong, however large it was.
const maxSaid = 4 << 10

// everyCall makes each of KEDA's calls and returns how each ended.
func (b *bed) everyCall(ref *pb.ScaledObjectRef) map[string]error {
	ctx, cancel := context.WithTimeout(b.t.Context(), 30*time.Second)
	defer cancel()
	errs := map[string]error{}
	_, errs["IsActive"] = b.IsActive(ctx, ref)
	_, errs["GetMetricSpec"] = b.GetMetricSpec(ctx, ref)
	_, errs["GetMetrics"] = b.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: ref})
	woken, err := b.StreamIsActive(ctx, ref)
	if err == nil {
		_, err = woken.Recv()
	}
	errs["StreamIsActive"] = err
	specs, err := b.StreamMetricSpec(ctx, ref)
	if err == nil {
		_, err = specs.Recv()
	}
	errs["StreamMetricSpec"] = err
	return errs
}

// Case 72, and its kind: what is too large, too much, or no text is refused in a few words, and others are served.
func TestHostileRequestsAreRefusedInAFewWords(t *testing.T) {
	b := serve(t, nil, source(t, "jobs", mixed()))
	keys := func(n int) map[string]string {
		all := make(map[string]string, n)
		for i := range n {
			all[fmt.Sprintf("key-%06d", i)] = ""
		}
		return all
	}
	for name, tt := range map[string]struct {
		ref  *pb.ScaledObjectRef
		code codes.Code
		says []string
	}{
		"a queue's name of 1 MB":    {ref("queue", strings.Repeat("x", 1<<20)), codes.ResourceExhausted, nil},
		"a queue's name of 200 kB":  {ref("queue", strings.Repeat("x", 200_000)), codes.InvalidArgument, []string{`"queue"`, "512 bytes"}},
		"100,000 queues":            {ref("queue", strings.Repeat("x,", 100_000)), codes.InvalidArgument, []string{`"queue"`, "more than 100 queues"}},
		"100,000 keys":              {&pb.ScaledObjectRef{ScalerMetadata: keys(100_000)}, codes.ResourceExhausted, nil},
		"as many keys as there fit": {&pb.ScaledObjectRef{ScalerMetadata: keys(16_000)}, codes.InvalidArgument, []string{`"key-000000"`, "and 15992 more unknown keys"}},
		"a key of 200 kB":           {ref(strings.Repeat("k", 200_000), ""), codes.InvalidArgument, []string{"is unknown"}},
		"a target of 200 kB":        {ref("target", strings.Repeat("9", 200_000)), codes.InvalidArgument, []string{`"target"`}},
		"a linger of 200 kB":        {ref("linger", strings.Repeat("9h", 100_000)), codes.InvalidArgument, []string{`"linger"`}},
		"a source of 200 kB":        {ref("source", strings.Repeat("s", 200_000)), codes.InvalidArgument, []string{`"source"`}},
		"an object's name":          {&pb.ScaledObjectRef{Name: strings.Repeat("n", 254)}, codes.InvalidArgument, []string{"253"}},
		"a namespace of 200 kB":     {&pb.ScaledObjectRef{Namespace: strings.Repeat("n", 200_000)}, codes.InvalidArgument, []string{"253"}},
	} {
		for call, err := range b.everyCall(tt.ref) {
			wantStatus(t, err, tt.code, tt.says...)
			if said := status.Convert(err).Message(); len(said) > maxSaid || !utf8.ValidString(said) {
				t.Errorf("%s, %s: %d bytes are said: %.200s", name, call, len(said), said)
			}
		}
	}
	_, err := b.GetMetrics(t.Context(), &pb.GetMetricsRequest{ScaledObjectRef: ref("queue", "mail"), MetricName: strings.Repeat("m", 200_000)})
	wantStatus(t, err, codes.NotFound, "mail")
	if said := status.Convert(err).Message(); len(said) > maxSaid {
		t.Errorf("%d bytes are said of a metric's name", len(said))
	}
	b.wantValue(ref("queue", "mail"), 5)
}

// Headers of a call are bounded like those of HTTP.
func TestHugeHeadersAreRefused(t *testing.T) {
	b := serve(t, nil, source(t, "jobs", mixed()))
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-large", strings.Repeat("x", 64<<10))
	if _, err := b.IsActive(ctx, ref("queue", "mail")); err == nil {
		t.Error("a header of 64 kB is taken")
	}
	b.wantActive(ref("queue", "mail"), true)
}

// rawCodec sends bytes as they are.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	raw, ok := v.([]byte)
	if !ok {
		return nil, errors.New("no bytes")
	}
	return mem.BufferSlice{mem.SliceBuffer(raw)}, nil
}

func (rawCodec) Unmarshal(mem.BufferSlice, any) error { return nil }

// sendRaw makes a unary call with bytes for a request.
func (b *bed) sendRaw(ctx context.Context, method string, raw []byte) error {
	return b.conn.Invoke(ctx, "/externalscaler.ExternalScaler/"+method, raw, nil, grpc.ForceCodecV2(rawCodec{}))
}

// field writes a field of bytes.
func field(number protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), text)
}

// entry writes an entry of the metadata.
func entry(key, value string) []byte {
	return field(3, string(append(field(1, key), field(2, value)...)))
}

// hostileMessages are requests that no client of KEDA's sends.
func hostileMessages() map[string][]byte {
	return map[string][]byte{
		"a name that is no UTF-8":   field(1, "\xff\xfe"),
		"a key that is no UTF-8":    entry("\xc0\x80", "x"),
		"a value that is no UTF-8":  entry("queue", "\xed\xa0\x80"),
		"half a field":              field(1, "worker")[:4],
		"a length without end":      {0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f},
		"a number without end":      []byte(strings.Repeat("\xff", 20)),
		"groups in groups":          []byte(strings.Repeat("\x0b", 20_000)),
		"metadata that is a number": protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), 5),
	}
}

func TestWhatIsNoMessageIsRefused(t *testing.T) {
	b := serve(t, nil, source(t, "jobs", mixed()))
	for name, raw := range hostileMessages() {
		for _, method := range []string{"IsActive", "GetMetricSpec", "GetMetrics"} {
			err := b.sendRaw(t.Context(), method, raw)
			if name == "metadata that is a number" || method == "GetMetrics" && !strings.HasPrefix(string(raw), "\x0a") {
				continue // unknown fields of a message, which mean nothing
			}
			if code := status.Code(err); code != codes.Internal || len(err.Error()) > maxSaid || !utf8.ValidString(err.Error()) {
				t.Errorf("%s of %s: %v", method, name, err)
			}
		}
	}
	// A key that is there twice is the last one's, as in every map of protocol buffers.
	twice := append(entry("queue", "nobody"), entry("queue", "mail")...)
	if err := b.sendRaw(t.Context(), "IsActive", twice); err != nil {
		t.Error(err)
	}
	b.wantValue(ref("queue", "mail"), 5)
	if strings.Contains(b.log.String(), "level=ERROR") {
		t.Errorf("the log: %s", b.log)
	}
}

// FuzzRequest sends bytes to the server in place of a request.
func FuzzRequest(f *testing.F) {
	methods := []string{"IsActive", "GetMetricSpec", "GetMetrics"}
	for _, raw := range hostileMessages() {
		f.Add(uint8(0), raw)
		f.Add(uint8(2), field(1, string(raw)))
	}
	f.Add(uint8(0), append(entry("queue", "mail"), entry("target", "5")...))
	f.Add(uint8(1), append(field(1, "worker"), entry("tokenFromEnv", "ldm_a_b")...))
	f.Add(uint8(2), append(field(1, string(entry("queue", "mail*"))), field(2, "s0-mail")...))
	b := serve(f, nil, source(f, "jobs", mixed()))
	f.Fuzz(func(t *testing.T, method uint8, raw []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		name := methods[int(method)%len(methods)]
		err := b.sendRaw(ctx, name, raw)
		switch code := status.Code(err); {
		case code == codes.Unknown, code == codes.DeadlineExceeded, code == codes.Unavailable,
			code == codes.Internal && !strings.Contains(err.Error(), "unmarshal"):
			t.Errorf("%s: %v", name, err)
		case err != nil && (len(err.Error()) > 16<<10 || !utf8.ValidString(err.Error())):
			t.Errorf("%s says %d bytes: %.1000q", name, len(err.Error()), err)
		}
	})
}

// What is remembered of metadata is what they mean, and no more.
func TestDistinctMetadataTakeABoundedMemory(t *testing.T) {
	store := memory.New()
	b := serve(t, nil, source(t, "jobs", store))
	const sets, each = 10_000, 16 << 10 // bytes of memory; a metadata set has hardly a hundred
	before := heap()
	for i := range sets {
		trigger := ref("queue", fmt.Sprintf("queue-%d", i), "target", fmt.Sprint(i+1))
		if i%100 == 0 {
			trigger.ScalerMetadata["linger"] = strings.Repeat(" ", 60_000) + "5s" + strings.Repeat(" ", 60_000)
			trigger.ScalerMetadata["queue"] = strings.Repeat("\n", 100_000) + fmt.Sprintf("queue-%d", i)
		}
		if _, err := b.IsActive(t.Context(), trigger); err != nil {
			t.Fatal(err)
		}
	}
	if grown := heap() - before; grown > sets*each {
		t.Errorf("%d bytes are kept for %d metadata sets", grown, sets)
	}
	b.wantActive(ref("queue", "queue-1"), false)
}

// heap is how many bytes are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what finalizers let go of
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
