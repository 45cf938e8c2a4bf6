package auth_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/leadsman/leadsman/scaler/internal/auth"
)

// with returns a context with these authorization headers.
func with(ctx context.Context, headers ...string) context.Context {
	return metadata.NewOutgoingContext(ctx, metadata.MD{"authorization": headers})
}

// isActive asks as KEDA does and returns the code.
func isActive(ctx context.Context, conn *grpc.ClientConn, meta map[string]string) codes.Code {
	_, err := externalscaler.NewExternalScalerClient(conn).IsActive(ctx, &externalscaler.ScaledObjectRef{ScalerMetadata: meta})
	return status.Code(err)
}

func isHealthy(ctx context.Context, conn *grpc.ClientConn) codes.Code {
	_, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	return status.Code(err)
}

// reflect lists the server's services and returns the code.
func reflect(ctx context.Context, conn *grpc.ClientConn) codes.Code {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err == nil {
		err = stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}})
	}
	if err == nil || errors.Is(err, io.EOF) { // EOF: refused already, and Recv knows why
		_, err = stream.Recv()
	}
	return status.Code(err)
}

func TestHealthIsOpenAndAllElseNeedsACredential(t *testing.T) {
	token, entry := mint(t, auth.Grant{ID: "ops"})
	old, expired := mint(t, auth.Grant{ID: "old", Expires: time.Now().Add(-time.Hour)})
	reader, third := mint(t, auth.Grant{ID: "reader", Scopes: []auth.Scope{auth.Read}})
	a := authority(t, auth.Policy{Tokens: []auth.Token{entry, expired, third}})
	conn := dial(t, serve(t, a, insecure.NewCredentials()), nil)
	for name, tc := range map[string]struct {
		headers     []string
		scaler, all codes.Code // KEDA's service; reflection
	}{
		"no token":             {nil, codes.Unauthenticated, codes.Unauthenticated},
		"token":                {[]string{"Bearer " + token}, codes.OK, codes.OK},
		"lower-case scheme":    {[]string{"bearer " + token}, codes.OK, codes.OK},
		"upper-case scheme":    {[]string{"BEARER  " + token}, codes.OK, codes.OK},
		"wrong token":          {[]string{"Bearer " + token[:len(token)-1] + "!"}, codes.Unauthenticated, codes.Unauthenticated},
		"old token":            {[]string{"Bearer " + old}, codes.Unauthenticated, codes.Unauthenticated},
		"other scheme":         {[]string{"Basic " + token}, codes.Unauthenticated, codes.Unauthenticated},
		"no scheme":            {[]string{token}, codes.Unauthenticated, codes.Unauthenticated},
		"empty":                {[]string{"Bearer "}, codes.Unauthenticated, codes.Unauthenticated},
		"several headers":      {[]string{"Bearer " + token, "Bearer " + token}, codes.Unauthenticated, codes.Unauthenticated},
		"scope read, not more": {[]string{"Bearer " + reader}, codes.OK, codes.PermissionDenied},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := with(t.Context(), tc.headers...)
			if got := isHealthy(ctx, conn); got != codes.OK {
				t.Errorf("health: %v", got)
			}
			if got := isActive(ctx, conn, nil); got != tc.scaler {
				t.Errorf("IsActive: %v, want %v", got, tc.scaler)
			}
			if got := reflect(ctx, conn); got != tc.all {
				t.Errorf("reflection: %v, want %v", got, tc.all)
			}
		})
	}
}

// KEDA sends no header: the token travels in the trigger's metadata.
func TestTokenInTriggerMetadata(t *testing.T) {
	token, entry := mint(t, auth.Grant{ID: "keda", Scopes: []auth.Scope{auth.Read}, Sources: []string{"mail"}})
	signal, second := mint(t, auth.Grant{ID: "producer", Scopes: []auth.Scope{auth.Signal}})
	a := authority(t, auth.Policy{Tokens: []auth.Token{entry, second}})
	conn := dial(t, serve(t, a, insecure.NewCredentials()), nil)
	for name, tc := range map[string]struct {
		meta    map[string]string
		headers []string
		want    codes.Code
	}{
		"token":                      {map[string]string{"source": "mail", "token": token}, nil, codes.OK},
		"tokenFromEnv, resolved":     {map[string]string{"source": "mail", "tokenFromEnv": token}, nil, codes.OK},
		"tokenFromEnv, unresolved":   {map[string]string{"source": "mail"}, nil, codes.Unauthenticated},
		"plain key wins when right":  {map[string]string{"source": "mail", "token": token, "tokenFromEnv": "x"}, nil, codes.OK},
		"plain key wins when wrong":  {map[string]string{"source": "mail", "token": "x", "tokenFromEnv": token}, nil, codes.Unauthenticated},
		"bad header is not rescued":  {map[string]string{"source": "mail", "token": token}, []string{"Bearer x"}, codes.Unauthenticated},
		"source that is not granted": {map[string]string{"source": "bill", "token": token}, nil, codes.PermissionDenied},
		"scope that is not granted":  {map[string]string{"source": "mail", "token": signal}, nil, codes.PermissionDenied},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isActive(with(t.Context(), tc.headers...), conn, tc.meta); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestRefusalTellsTheCallerNothingOfTheToken(t *testing.T) {
	token, entry := mint(t, auth.Grant{ID: "keda", Sources: []string{"mail"}})
	a := authority(t, auth.Policy{Tokens: []auth.Token{entry}})
	client := externalscaler.NewExternalScalerClient(dial(t, serve(t, a, insecure.NewCredentials()), nil))
	ask := func(token string) string {
		_, err := client.IsActive(t.Context(), &externalscaler.ScaledObjectRef{ScalerMetadata: map[string]string{"token": token, "source": "bill"}})
		return status.Convert(err).Message()
	}
	if got := ask(token + "x"); got != "the request carries no valid credential" {
		t.Errorf("a wrong token is answered %q", got)
	}
	if got := ask(token); got != `token "keda" is not granted source "bill"` {
		t.Errorf("a missing grant is answered %q", got)
	}
}

// Case 68: while streams are open a token is revoked. Its stream ends, the other one stays.
func TestRevokedTokenLosesItsStreamAndOthersKeepTheirs(t *testing.T) {
	kept, entry := mint(t, auth.Grant{ID: "new"})
	gone, second := mint(t, auth.Grant{ID: "old"})
	a := authority(t, auth.Policy{Tokens: []auth.Token{entry, second}})
	conn := dial(t, serve(t, a, insecure.NewCredentials()), nil)
	open := func(ctx context.Context, meta map[string]string) externalscaler.ExternalScaler_StreamIsActiveClient {
		stream, err := externalscaler.NewExternalScalerClient(conn).StreamIsActive(ctx, &externalscaler.ScaledObjectRef{ScalerMetadata: meta})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		return stream
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	stays := open(ctx, map[string]string{"token": kept})
	ends := []externalscaler.ExternalScaler_StreamIsActiveClient{
		open(ctx, map[string]string{"token": gone}),
		open(with(ctx, "Bearer "+gone), nil),
	}
	if err := a.Set(auth.Policy{Tokens: []auth.Token{entry}}); err != nil {
		t.Fatal(err)
	}
	for _, stream := range ends {
		if _, err := stream.Recv(); status.Code(err) != codes.Unauthenticated {
			t.Errorf("the revoked stream ended with %v", err)
		}
	}
	received := make(chan error, 1)
	go func() {
		_, err := stays.Recv()
		received <- err
	}()
	// A second change proves that the survivor was judged again and waits for the next one.
	if err := a.Set(auth.Policy{Tokens: []auth.Token{entry, second}}); err != nil {
		t.Fatal(err)
	}
	open(ctx, map[string]string{"token": gone})
	select {
	case err := <-received:
		t.Errorf("the stream of the other token ended with %v", err)
	default:
	}
	cancel()
	if err := <-received; status.Code(err) != codes.Canceled {
		t.Errorf("the surviving stream ended with %v", err)
	}
}

func TestBadHeaderIsRefusedBeforeTheHandler(t *testing.T) {
	_, entry := mint(t, auth.Grant{ID: "x"})
	a := authority(t, auth.Policy{Tokens: []auth.Token{entry}})
	client := externalscaler.NewExternalScalerClient(dial(t, serve(t, a, insecure.NewCredentials()), nil))
	// The handler of GetMetricSpec asks nothing here: who reaches it is told that it is not implemented.
	for want, ctx := range map[codes.Code]context.Context{
		codes.Unauthenticated: with(t.Context(), "Bearer x"), codes.Unimplemented: t.Context(),
	} {
		if _, err := client.GetMetricSpec(ctx, &externalscaler.ScaledObjectRef{}); status.Code(err) != want {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

func TestServerWithoutInterceptorsIsNotOpen(t *testing.T) {
	_, entry := mint(t, auth.Grant{ID: "x"})
	a := authority(t, auth.Policy{Tokens: []auth.Token{entry}})
	if _, err := a.Identify(t.Context(), nil); status.Code(err) != codes.Unauthenticated {
		t.Fatalf("got %v", err)
	}
}

func TestClientCertificateGives(t *testing.T) {
	ca, foreign := newCA(t), newCA(t)
	spiffe := &url.URL{Scheme: "spiffe", Host: "cluster", Path: "/ns/keda/sa/operator"}
	all := x509.Certificate{
		DNSNames: []string{"Keda.example"}, IPAddresses: []net.IP{net.ParseIP("10.0.0.7")},
		EmailAddresses: []string{"ops@example"}, URIs: []*url.URL{spiffe},
	}
	mail := auth.Grant{ID: "keda", Scopes: []auth.Scope{auth.Read}, Sources: []string{"mail"}}
	clients := func(sans ...string) auth.Policy {
		policy := auth.Policy{ClientCA: true}
		for _, san := range sans {
			policy.Clients = append(policy.Clients, auth.Client{Grant: mail, SAN: san})
		}
		return policy
	}
	bad, entry := mint(t, auth.Grant{ID: "x"})
	withToken := clients("keda.example")
	withToken.Tokens = []auth.Token{entry}
	ended := clients("keda.example")
	ended.Clients[0].Expires = time.Now().Add(-time.Hour)

	for name, tc := range map[string]struct {
		policy auth.Policy
		cert   x509.Certificate
		meta   map[string]string
		want   codes.Code
	}{
		"any source without clients":   {clients(), all, map[string]string{"source": "any"}, codes.OK},
		"its source by DNS name":       {clients("keda.example"), all, map[string]string{"source": "mail"}, codes.OK},
		"its source by URI":            {clients(spiffe.String()), all, map[string]string{"source": "mail"}, codes.OK},
		"its source by email":          {clients("ops@example"), all, map[string]string{"source": "mail"}, codes.OK},
		"its source by address":        {clients("10.0.0.7"), all, map[string]string{"source": "mail"}, codes.OK},
		"no other source":              {clients("keda.example"), all, map[string]string{"source": "bill"}, codes.PermissionDenied},
		"nothing to others":            {clients("other.example"), all, map[string]string{"source": "mail"}, codes.Unauthenticated},
		"nothing once expired":         {ended, all, map[string]string{"source": "mail"}, codes.Unauthenticated},
		"nothing by a name like an IP": {clients("10.0.0.7"), x509.Certificate{DNSNames: []string{"10.0.0.7"}}, map[string]string{"source": "mail"}, codes.Unauthenticated},
		"nothing beside a bad token":   {withToken, all, map[string]string{"source": "mail", "token": bad + "x"}, codes.Unauthenticated},
		"less than a token beside it":  {withToken, all, map[string]string{"source": "bill", "token": bad}, codes.OK},
	} {
		t.Run(name, func(t *testing.T) {
			served, err := auth.NewTLS(newFiles(t, ca, ca).Files, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			addr := serve(t, authority(t, tc.policy), credentials.NewTLS(served.Config()))
			conn := dial(t, addr, &tls.Config{RootCAs: ca.pool(), Certificates: []tls.Certificate{ca.pair(t, tc.cert)}})
			if got := isActive(t.Context(), conn, tc.meta); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			if got := reflect(t.Context(), conn); got == codes.OK {
				t.Error("scope read opens reflection")
			}
			bare := dial(t, addr, &tls.Config{RootCAs: ca.pool()})
			if got := isHealthy(t.Context(), bare); got != codes.OK {
				t.Errorf("health without a certificate: %v", got)
			}
			if got := isActive(t.Context(), bare, map[string]string{"source": "mail"}); got != codes.Unauthenticated {
				t.Errorf("IsActive without a certificate: %v", got)
			}
			stranger := dial(t, addr, &tls.Config{RootCAs: ca.pool(), GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				pair := foreign.pair(t, tc.cert) // sent although the server names another CA
				return &pair, nil
			}})
			if got := isActive(t.Context(), stranger, tc.meta); got != codes.Unavailable {
				t.Errorf("a certificate of a foreign CA: %v", got)
			}
		})
	}
}

func TestIdentityOfACertificateEndsWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pair := newCA(t).pair(t, x509.Certificate{DNSNames: []string{"x"}, NotAfter: time.Now().Add(time.Minute)})
		// A connection that was made while the certificate was valid, and is still open when it no longer is.
		ctx := peer.NewContext(t.Context(), &peer.Peer{AuthInfo: credentials.TLSInfo{
			State: tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{pair.Leaf}}},
		}})
		a := authority(t, auth.Policy{ClientCA: true})
		id, err := a.Authenticate(ctx, "", "")
		if err != nil || !id.Allows(auth.Read) || id.Allows(auth.Inspect) {
			t.Fatalf("%v, %v", id, err)
		}
		time.Sleep(time.Minute)
		if id.Allows(auth.Read) {
			t.Error("an identity outlives its certificate")
		}
		if _, err := a.Authenticate(ctx, "", ""); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("an expired certificate gives %v", err)
		}
	})
}

func TestLongNamesAreCutInErrors(t *testing.T) {
	token, entry := mint(t, auth.Grant{ID: "keda", Sources: []string{"mail"}})
	a := authority(t, auth.Policy{Tokens: []auth.Token{entry}})
	id, err := a.Authenticate(t.Context(), token, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := id.Denied("queue", strings.Repeat("x", 1<<20)).Error(); len(got) > 200 {
		t.Errorf("an error of %d bytes", len(got))
	}
}
