package inspect_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/memory"
)

// A stranger is a client that knows no proto file, as grpcurl is one.
type stranger struct {
	t    *testing.T
	ctx  context.Context // it carries the token of every call
	conn *grpc.ClientConn
}

// ask asks the server's reflection.
func (s *stranger) ask(req *reflectionpb.ServerReflectionRequest) (*reflectionpb.ServerReflectionResponse, error) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	stream, err := reflectionpb.NewServerReflectionClient(s.conn).ServerReflectionInfo(ctx)
	if err != nil {
		return nil, err
	}
	if err := stream.Send(req); err != nil && !errors.Is(err, io.EOF) { // Recv tells why the stream has ended
		return nil, err
	}
	return stream.Recv()
}

// services lists what the server offers.
func (s *stranger) services() ([]string, error) {
	resp, err := s.ask(&reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{ListServices: "*"},
	})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, service := range resp.GetListServicesResponse().GetService() {
		names = append(names, service.GetName())
	}
	return names, nil
}

// service fetches the description of a service.
func (s *stranger) service(name string) protoreflect.ServiceDescriptor { //nolint:ireturn // protobuf has no other form of it
	s.t.Helper()
	resp, err := s.ask(&reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	for _, raw := range resp.GetFileDescriptorResponse().GetFileDescriptorProto() {
		file := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(raw, file); err != nil {
			s.t.Fatal(err)
		}
		set.File = append(set.File, file)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		s.t.Fatalf("the description of %s is not complete: %v", name, err)
	}
	found, err := files.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		s.t.Fatal(err)
	}
	service, ok := found.(protoreflect.ServiceDescriptor)
	if !ok {
		s.t.Fatalf("%s is %T", name, found)
	}
	return service
}

// call makes a unary call with messages in JSON.
func (s *stranger) call(service protoreflect.ServiceDescriptor, name protoreflect.Name, body string) (string, error) {
	s.t.Helper()
	method := service.Methods().ByName(name)
	if method == nil {
		s.t.Fatalf("%s has no method %s", service.FullName(), name)
	}
	in, out := dynamicpb.NewMessage(method.Input()), dynamicpb.NewMessage(method.Output())
	if err := protojson.Unmarshal([]byte(body), in); err != nil {
		s.t.Fatal(err)
	}
	if err := s.conn.Invoke(s.ctx, "/"+string(service.FullName())+"/"+string(name), in, out); err != nil {
		return "", err
	}
	return protojson.MarshalOptions{}.Format(out), nil
}

// With reflection and a token, a client finds and uses the Inspector on its own, over a real connection.
func TestStrangerWithATokenFindsItsWay(t *testing.T) {
	token, entry := mint(t, scaler.Grant{ID: "person", Scopes: []scaler.Scope{scaler.ScopeInspect}})
	store := memory.New()
	store.Enqueue("mail", 42)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t, listener, []scaler.Token{entry}, source(t, "jobs", store))
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })

	nobody := &stranger{t: t, ctx: t.Context(), conn: conn}
	_, err = nobody.services()
	wantStatus(t, err, codes.Unauthenticated)

	person := &stranger{t: t, ctx: bearing(t, token), conn: conn}
	services, err := person.services()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"leadsman.v1.Inspector", "externalscaler.ExternalScaler", "grpc.health.v1.Health"} {
		if !slices.Contains(services, name) {
			t.Errorf("services = %v, want %s among them", services, name)
		}
	}
	inspector := person.service("leadsman.v1.Inspector")
	for name, c := range map[protoreflect.Name]struct{ body, want string }{
		"ListSources":  {`{}`, `"name":"jobs"`},
		"ListQueues":   {`{"source": "jobs", "pageSize": 10}`, `"total":1`},
		"GetQueue":     {`{"queue": "mail"}`, `"ready":"42"`},
		"ListTriggers": {`{}`, `{}`},
		"Explain":      {`{"metadata": {"queue": "mail", "target": "5"}, "maxReplicas": 30}`, `"desiredReplicas":9`},
	} {
		got, err := person.call(inspector, name, c.body)
		if err != nil || !strings.Contains(strings.ReplaceAll(got, " ", ""), c.want) {
			t.Errorf("%s %s = %s, %v, want %s in it", name, c.body, got, err, c.want)
		}
	}
	_, err = person.call(inspector, "GetQueue", `{"source": "elsewhere", "queue": "mail"}`)
	wantStatus(t, err, codes.InvalidArgument, `"elsewhere"`, "jobs")
}
