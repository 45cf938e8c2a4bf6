package scaler_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/memory"
)

// mint makes a token and its place in the access rules.
func mint(t *testing.T, grant scaler.Grant) (string, scaler.Token) {
	t.Helper()
	token, sum, err := scaler.MintToken(grant.ID)
	if err != nil {
		t.Fatal(err)
	}
	return token, scaler.Token{Grant: grant, SHA256: sum}
}

// with puts access rules in force from the start.
func with(tokens ...scaler.Token) func(*scaler.Options) {
	return func(o *scaler.Options) { o.Access = scaler.Access{Tokens: tokens} }
}

// bearing is a context that carries an authorization header.
func bearing(ctx context.Context, header string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", header)
}

// Case 65: KEDA sends no header, but all metadata, with what it took from the workload's environment under the key
// as it was written.
func TestTokenTravelsInTheMetadata(t *testing.T) {
	token, entry := mint(t, scaler.Grant{ID: "keda", Scopes: []scaler.Scope{scaler.ScopeRead}})
	b := serve(t, with(entry), source(t, "jobs", memory.New()))
	for _, c := range []struct {
		name     string
		metadata []string
		header   string
		code     codes.Code
	}{
		{"token", []string{"token", token}, "", codes.OK},
		{"token with the newline of a Secret", []string{"token", token + "\n"}, "", codes.OK},
		{"tokenFromEnv", []string{"tokenFromEnv", token}, "", codes.OK},
		{"the plain key wins", []string{"token", token, "tokenFromEnv", "ldm_keda_wrong"}, "", codes.OK},
		{"the plain key wins when it is wrong, too", []string{"token", "ldm_keda_wrong", "tokenFromEnv", token}, "", codes.Unauthenticated},
		{"a header", nil, "Bearer " + token, codes.OK},
		{"a wrong header is not rescued", []string{"token", token}, "Bearer ldm_keda_wrong", codes.Unauthenticated},
		{"none", nil, "", codes.Unauthenticated},
		{"an unresolved tokenFromEnv, which KEDA drops", []string{"tokenFromEnv", ""}, "", codes.Unauthenticated},
	} {
		ctx := t.Context()
		if c.header != "" {
			ctx = bearing(ctx, c.header)
		}
		_, err := b.IsActive(ctx, ref(c.metadata...))
		wantStatus(t, err, c.code)
		_, err = b.GetMetricSpec(ctx, ref(c.metadata...))
		wantStatus(t, err, c.code)
		_, err = b.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: ref(c.metadata...)})
		wantStatus(t, err, c.code)
		if t.Failed() {
			t.Fatalf("with %s", c.name)
		}
	}
	if secret := token[strings.LastIndex(token, "_")+1:]; strings.Contains(b.log.String(), secret) {
		t.Errorf("the log holds the token's secret:\n%s", b.log)
	}
}

// Cases 66 and 67: a trigger names a source of the server's and can never name a host.
func TestConnectionInMetadataIsRefusedAndNotShown(t *testing.T) {
	b := serve(t, nil, source(t, "jobs", memory.New()))
	for _, key := range []string{"url", "host", "connection", "dsn", "password", "connectionFromEnv"} {
		_, err := b.GetMetricSpec(t.Context(), ref(key, "postgres://app:hunter2@elsewhere/jobs"))
		wantStatus(t, err, codes.InvalidArgument, `"`+key+`"`)
		if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "elsewhere") {
			t.Errorf("the answer repeats the value: %v", err)
		}
	}
	// KEDA's own keys and what it makes TLS of are no faults.
	b.spec(ref("scalerAddress", "leadsman:50051", "enableTLS", "true", "caCert", "…", "tlsClientCert", "…", "tlsClientKey", "…"))
}

// Case 67: sources, queues and namespaces that are not granted cannot be asked for, and sources not even be seen.
func TestGrantNarrowsWhatMayBeAsked(t *testing.T) {
	token, entry := mint(t, scaler.Grant{
		ID: "team", Scopes: []scaler.Scope{scaler.ScopeRead},
		Sources: []string{"jobs"}, Queues: []string{"mail-*", "video"}, Namespaces: []string{"team"},
	})
	b := serve(t, with(entry), source(t, "jobs", memory.New()), source(t, "payroll", memory.New()))
	for _, c := range []struct {
		name     string
		metadata []string
		code     codes.Code
		texts    []string
	}{
		{"its only source may be left out", []string{"queue", "video"}, codes.OK, nil},
		{"a queue within a glob", []string{"queue", "mail-a, video"}, codes.OK, nil},
		{"a glob within a glob", []string{"queue", "mail-a*"}, codes.OK, nil},
		{"a wider glob", []string{"queue", "mail*"}, codes.PermissionDenied, []string{`queue "mail*"`, `token "team"`}},
		{"another queue", []string{"queue", "video, wages"}, codes.PermissionDenied, []string{`queue "wages"`}},
		{"all queues", nil, codes.PermissionDenied, []string{"queue"}},
		{"another source", []string{"source", "payroll", "queue", "video"}, codes.InvalidArgument, []string{`"payroll" is no source that this caller may read`}},
		{"a source that does not exist", []string{"source", "nowhere", "queue", "video"}, codes.InvalidArgument, []string{"jobs"}},
	} {
		_, err := b.GetMetricSpec(t.Context(), ref(append(c.metadata, "token", token)...))
		wantStatus(t, err, c.code, c.texts...)
		if c.name == "a source that does not exist" && strings.Contains(err.Error(), "payroll") {
			t.Errorf("%v: names a source that is hidden from the caller", err)
		}
		if t.Failed() {
			t.Fatalf("with %s", c.name)
		}
	}
	elsewhere := ref("queue", "video", "token", token)
	elsewhere.Namespace = "other-team"
	_, err := b.IsActive(t.Context(), elsewhere)
	wantStatus(t, err, codes.PermissionDenied, `namespace "other-team"`)
}

// Case 68: old and new token hold together during a rotation, for a running stream keeps the token of its start.
func TestRotationKeepsStreamsUntilTheirTokenIsRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		oldToken, oldEntry := mint(t, scaler.Grant{ID: "old"})
		newToken, newEntry := mint(t, scaler.Grant{ID: "new"})
		store := memory.New()
		b := serve(t, with(oldEntry), source(t, "jobs", store))
		set := func(tokens ...scaler.Token) {
			if err := b.server.SetAccess(scaler.Access{Tokens: tokens}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		old := b.listen(ref("queue", "mail", "token", oldToken))
		spec, err := b.StreamMetricSpec(t.Context(), ref("queue", "mail", "token", oldToken))
		if err != nil {
			t.Fatal(err)
		}
		set(oldEntry, newEntry)
		fresh := b.listen(ref("queue", "mail", "token", newToken))
		store.Enqueue("mail", 1)
		time.Sleep(time.Second)
		if len(old.times()) != 1 || len(fresh.times()) != 1 {
			t.Errorf("during the rotation the streams got %v and %v, want one true each", old.times(), fresh.times())
		}
		set(newEntry)
		if old.open() || !fresh.open() {
			t.Fatalf("old open = %v, new open = %v, want the old one's stream ended and the new one's kept", old.open(), fresh.open())
		}
		wantStatus(t, old.end(), codes.Unauthenticated)
		if _, err := spec.Recv(); err != nil {
			t.Errorf("the first spec: %v", err)
		}
		_, err = spec.Recv()
		wantStatus(t, err, codes.Unauthenticated)
		_, err = b.IsActive(t.Context(), ref("queue", "mail", "token", oldToken))
		wantStatus(t, err, codes.Unauthenticated)
		if err := b.server.SetAccess(scaler.Access{Tokens: []scaler.Token{{SHA256: "short"}}}); err == nil {
			t.Error("malformed rules were accepted")
		}
		b.wantActive(ref("queue", "mail", "token", newToken), true) // the rules before stay
	})
}

func TestStreamEndsWhenItsTokenExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		short, shortEntry := mint(t, scaler.Grant{ID: "short", Expires: time.Now().Add(time.Hour)})
		long, longEntry := mint(t, scaler.Grant{ID: "long"})
		b := serve(t, with(shortEntry, longEntry), source(t, "jobs", memory.New()))
		expiring, lasting := b.listen(ref("token", short)), b.listen(ref("token", long))
		time.Sleep(time.Hour - time.Second)
		if !expiring.open() {
			t.Fatalf("the stream has ended early: %v", expiring.end())
		}
		time.Sleep(2 * time.Second)
		if expiring.open() || !lasting.open() {
			t.Fatalf("after the expiry: open = %v, the other's = %v", expiring.open(), lasting.open())
		}
		wantStatus(t, expiring.end(), codes.Unauthenticated)
	})
}

// A trigger that names no source means the only one its token may see. When that becomes another one, the stream
// must not go on about the old one.
func TestStreamEndsCleanlyWhenItsSourceHasBecomeAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token, entry := mint(t, scaler.Grant{ID: "team", Sources: []string{"jobs"}})
		b := serve(t, with(entry), source(t, "jobs", memory.New()), source(t, "other", memory.New()))
		h := b.listen(ref("queue", "mail", "token", token))
		entry.Sources = []string{"jobs", "nowhere"} // the same for this trigger
		if err := b.server.SetAccess(scaler.Access{Tokens: []scaler.Token{entry}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if !h.open() {
			t.Fatalf("the stream has ended with %v though nothing changed for it", h.end())
		}
		entry.Sources = []string{"other"}
		if err := b.server.SetAccess(scaler.Access{Tokens: []scaler.Token{entry}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if h.open() {
			t.Fatal("the stream tells of a source that the token has lost")
		}
		if err := h.end(); !errors.Is(err, io.EOF) {
			t.Errorf("the stream ended with %v, want EOF: KEDA comes back for the other source", err)
		}
	})
}

// Case 70: health is open, for the kubelet has no token; everything else is not.
func TestHealthIsOpenAndReflectionIsNot(t *testing.T) {
	keda, read := mint(t, scaler.Grant{ID: "keda", Scopes: []scaler.Scope{scaler.ScopeRead}})
	person, inspect := mint(t, scaler.Grant{ID: "person", Scopes: []scaler.Scope{scaler.ScopeInspect}})
	old, expired := mint(t, scaler.Grant{ID: "old", Expires: time.Now().Add(-time.Minute)})
	b := serve(t, with(read, inspect, expired), source(t, "jobs", memory.New()))
	health := healthpb.NewHealthClient(b.conn)
	for header, code := range map[string]codes.Code{
		"":                       codes.Unauthenticated,
		"Bearer " + person:       codes.OK,
		"bearer " + person:       codes.OK, // the scheme is written in any case
		"BEARER " + person:       codes.OK,
		person:                   codes.Unauthenticated,
		"Basic " + person:        codes.Unauthenticated,
		"Bearer " + person + "x": codes.Unauthenticated,
		"Bearer " + old:          codes.Unauthenticated,
		"Bearer " + keda:         codes.PermissionDenied, // KEDA has no business with reflection
	} {
		ctx := t.Context()
		if header != "" {
			ctx = bearing(ctx, header)
		}
		if resp, err := health.Check(ctx, &healthpb.HealthCheckRequest{}); err != nil || resp.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("health with %.10q…: %v, %v, want serving", header, resp, err)
		}
		stream, err := reflectionpb.NewServerReflectionClient(b.conn).ServerReflectionInfo(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_ = stream.Send(&reflectionpb.ServerReflectionRequest{
			MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{ListServices: "*"},
		})
		_, err = stream.Recv()
		wantStatus(t, err, code)
		_ = stream.CloseSend()
		for err == nil {
			_, err = stream.Recv()
		}
	}
}
