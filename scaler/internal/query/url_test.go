package query

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAURLIsMetadata(t *testing.T) {
	for address, want := range map[string]map[string]string{
		"/api/scaler": {},
		"http://leadsman:8080/api/scaler?queue=a&x=":  {"queue": "a", "x": ""},
		"/api/scaler/mail":                            {"source": "mail"},
		"/api/scaler/mail/":                           {"source": "mail", "queue": ""},
		"/api/scaler/mail/team/a%20b%2Fc?metric=a+b":  {"source": "mail", "queue": "team/a b/c", "metric": "a b"},
		"/behind/a/proxy/api/scaler/mail?api_key=ldm": {"source": "mail"},
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		got, err := FromURL(u)
		if diff := cmp.Diff(want, got); diff != "" || err != nil || !AtScaler(u) {
			t.Errorf("%s: %v (-want +got):\n%s", address, err, diff)
		}
	}
}

func TestAURLThatIsNoQuestionIsAnErrorWithoutSecrets(t *testing.T) {
	for address, want := range map[string]string{
		"/api/scalers":                "there is nothing of leadsman's at",
		"/":                           "there is nothing",
		"/metrics/hunter2@db":         "there is nothing",
		"/api/scaler?queue=a&queue=b": `"queue" is given 2 times; give it once`,
		"/api/scaler?ldm_hunter2=a&ldm_hunter2=b":     "is given 2 times",
		"/api/scaler/mail?source=a":                   "source is given in the path and in the query",
		"/api/scaler/mail/a?queue=a":                  "queue is given in the path and in the query",
		"/api/scaler?queue=%zzhunter2":                `the query string cannot be read: invalid URL escape "%zz"`,
		"/api/scaler?a=1;hunter2=b":                   "separate parameters by &",
		"http://leadsman/api/scaler%2Fmail?x=hunter2": "there is nothing",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := FromURL(u); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
	}
}
