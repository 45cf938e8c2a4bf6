package storage_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
)

// A faulty is a Reader that returns what it is told, right or wrong. No real engine can be made to.
type faulty struct {
	reading driver.Reading
	err     error
}

func (f faulty) Read(context.Context, driver.Request) (driver.Reading, error) {
	return f.reading, f.err
}
func (f faulty) Close() error { return f.err }

func newSource(t *testing.T, reader driver.Reader, opts ...storage.Option) *storage.Source {
	t.Helper()
	src, err := storage.New("mail", reader, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func kindOf(t *testing.T, err error) driver.Kind {
	t.Helper()
	var failed *storage.Error
	if !errors.As(err, &failed) {
		t.Fatalf("err = %v (%T), want a *storage.Error", err, err)
	}
	return failed.Kind
}

func TestNewRefusesNamesThatNoTriggerCouldWrite(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "Mail", "mail out", "-mail", "mail-", "ma_il", strings.Repeat("m", 64)} {
		if _, err := storage.New(name, faulty{}); err == nil {
			t.Errorf("New(%q) took the name", name)
		}
	}
	for _, name := range []string{"m", "mail-2", strings.Repeat("m", 63)} {
		if _, err := storage.New(name, faulty{}); err != nil {
			t.Errorf("New(%q): %v", name, err)
		}
	}
	if _, err := storage.New("mail", nil); err == nil {
		t.Error("New took no reader")
	}
}

// A faulty engine must show as an error: its zeros are not to be believed.
func TestReadHoldsTheEngineToItsContract(t *testing.T) {
	t.Parallel()
	wanted := driver.Request{Wants: []driver.Want{{Queue: "a"}, {Queue: "b", Lookahead: time.Second}}}
	a, b := driver.Queue{Name: "a"}, driver.Queue{Name: "b", Lookahead: time.Second}
	for name, queues := range map[string][]driver.Queue{
		"a wanted queue is missing":    {a},
		"with another lookahead":       {a, {Name: "b"}},
		"a queue comes twice":          {a, a, b},
		"a queue has no name":          {a, b, {}},
		"a negative count":             {{Name: "a", Ready: -1}, b},
		"a negative age":               {{Name: "a", Oldest: -1}, b},
		"a negative number of workers": {{Name: "a", Pool: &driver.Pool{Capacity: -1}}, b},
	} {
		_, err := newSource(t, faulty{reading: driver.Reading{Queues: queues}}).Read(t.Context(), wanted)
		if kind := kindOf(t, err); kind != driver.Contract {
			t.Errorf("%s: kind %v, want contract", name, kind)
		}
	}
	sample, err := newSource(t, faulty{reading: driver.Reading{Queues: []driver.Queue{a, b, {Name: "c"}}}}).Read(t.Context(), wanted)
	if err != nil || len(sample.Queues) != 3 || sample.Started.IsZero() {
		t.Errorf("a good reading: %+v, %v", sample, err)
	}
}

func TestErrorsKeepTheirKindNameTheSourceAndLoseTheirSecrets(t *testing.T) {
	t.Parallel()
	password := "hunter2"
	secrets := storage.WithSecrets(func() []string { return []string{"", password} })
	for _, c := range []struct {
		err  error
		kind driver.Kind
	}{
		{errors.New("dial postgres://app:hunter2@db failed"), driver.Unavailable},
		{fmt.Errorf("read: %w", driver.Errorf(driver.Denied, "password hunter2 is wrong")), driver.Denied},
		{context.DeadlineExceeded, driver.Timeout},
	} {
		src := newSource(t, faulty{err: c.err}, secrets)
		_, err := src.Read(t.Context(), driver.Request{Wants: []driver.Want{{Queue: "a"}}})
		if kind := kindOf(t, err); kind != c.kind {
			t.Errorf("%v: kind %v, want %v", c.err, kind, c.kind)
		}
		if text := err.Error(); strings.Contains(text, password) || !strings.Contains(text, `source "mail"`) {
			t.Errorf("%q shows the password or does not name the source", text)
		}
		if !errors.Is(err, c.err) && !errors.As(err, new(*driver.Error)) {
			t.Errorf("%v has lost its cause", err)
		}
		if err := src.Close(); err == nil || strings.Contains(err.Error(), password) {
			t.Errorf("Close: %v", err)
		}
	}
	password = "swordfish" // it rotated
	_, err := newSource(t, faulty{err: errors.New("swordfish")}, secrets).Read(t.Context(), driver.Request{})
	if strings.Contains(err.Error(), password) {
		t.Errorf("%q shows the new password", err)
	}
}

func TestWatchOfAnEngineThatCannotSaysSo(t *testing.T) {
	t.Parallel()
	src := newSource(t, faulty{}, storage.WithTraits(storage.Traits{Engine: "faulty"}))
	if err := src.Watch(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "faulty") {
		t.Errorf("Watch: %v, want an error that names the engine", err)
	}
}

// An examiner is an engine that tells its password.
type examiner struct {
	faulty

	findings []driver.Finding
}

func (e examiner) Examine(context.Context) ([]driver.Finding, error) { return e.findings, e.err }

func TestExamineTakesSecretsOutAndIsOptional(t *testing.T) {
	t.Parallel()
	secrets := storage.WithSecrets(func() []string { return []string{"hunter2"} })
	told := examiner{findings: []driver.Finding{{Check: "server", Level: driver.LevelWarn, Found: "hunter2 is weak", Remedy: "not hunter2"}}}
	got, err := newSource(t, told, secrets).Examine(t.Context())
	if err != nil || len(got) != 1 || got[0].Found != "*** is weak" || got[0].Remedy != "not ***" {
		t.Errorf("got %+v, %v", got, err)
	}
	failing := examiner{faulty: faulty{err: driver.Errorf(driver.Denied, "hunter2 is refused")}}
	_, err = newSource(t, failing, secrets).Examine(t.Context())
	if kindOf(t, err) != driver.Denied || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
	if got, err := newSource(t, faulty{}).Examine(t.Context()); got != nil || err != nil {
		t.Errorf("an engine that cannot tell: %+v, %v", got, err)
	}
}
