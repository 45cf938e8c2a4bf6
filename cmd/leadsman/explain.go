package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/leadsman/leadsman/internal/show"
	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
)

// explainOptions say what is to be explained.
type explainOptions struct {
	inspectOptions

	files     []string
	metadata  []string // key=value
	env       []string // NAME=value
	namespace string
	current   int32
	min, max  int32 // of --metadata; a file has its own
}

// newExplainCommand makes "leadsman explain".
func newExplainCommand() *cobra.Command {
	var o explainOptions
	cmd := &cobra.Command{
		Use:   "explain {-f FILE | KEY=VALUE…}",
		Short: "Say what KEDA would be told for a ScaledObject, and why",
		Long: `Say what KEDA would be told for a ScaledObject or ScaledJob, and why: the value, the replicas that it implies, whether
the trigger is active, and the steps from the counts to them. Nothing has to be applied to a cluster.

A file may hold several documents, - is standard input, and what kubectl get -o yaml writes will do. Triggers of type
external and external-push are explained, and those of type metrics-api whose URL is one of leadsman's: what that is
answered, and what KEDA makes of it. The others are named and skipped; of a prometheus trigger over leadsman's series it
is said what KEDA asks. The server that is asked is the one of --server, whatever scalerAddress and url say.

What only KEDA knows is said where it matters: a key that ends in FromEnv takes its value from the workload's environment,
which is known here for a ScaledJob, for a workload among the documents, and by --env; a trigger's own token is neither
checked nor sent, nor is one in a URL.

The exit code is 1 when a trigger would be refused or cannot be answered.`,
		Example: `  leadsman explain -f scaledobject.yaml
  kubectl get scaledobject -A -o yaml | leadsman explain -f -
  leadsman explain -f app.yaml --env QUEUE=mail-out --current 3
  leadsman explain source=mail queue='mail-*' target=5 --max 30
  leadsman explain url='http://leadsman-http:8080/api/scaler/mail?queue=mail-*' valueLocation=metricValue targetValue=5
  leadsman explain --metadata queue=mail --metadata metric=oldest -o json | jq '.objects[].triggers[].answer.value'`,
		RunE: o.run,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return metadataKeys(), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.files, "file", "f", nil,
		"YAML or JSON file with ScaledObjects and ScaledJobs, - for standard input; repeat for more")
	flags.StringArrayVar(&o.metadata, "metadata", nil, "a key=value of a trigger's metadata, instead of a file; repeat for more")
	flags.StringArrayVar(&o.env, "env", nil, "a NAME=value of the workload's environment, for keys that end in FromEnv; repeat for more")
	flags.StringVarP(&o.namespace, "namespace", "n", "", "the object's namespace, where the file names none")
	flags.Int32Var(&o.current, "current", 0, "replicas that there are now")
	flags.Int32Var(&o.min, "min", 0, "minReplicaCount, without a file")
	flags.Int32Var(&o.max, "max", 0, "maxReplicaCount, without a file (default 100)")
	_ = cmd.MarkFlagFilename("file", "yaml", "yml", "json") // fails for an unknown flag only
	o.forInspection(cmd, flags)
	return cmd
}

// metadataKeys are the keys of a trigger's metadata, to be completed.
func metadataKeys() []cobra.Completion {
	return []cobra.Completion{
		"source=", "queue=", "metric=", "target=", "activation=", "activeWhileRunning=", "linger=", "lookahead=", "max=", "name=",
		"url=", "valueLocation=", "targetValue=", "activationTargetValue=", // of a metrics-api trigger
	}
}

// A subject is an object whose triggers are explained.
type subject struct {
	kind, namespace, name string // empty for metadata of the command line
	min, max              int32  // replicas; max 0 is KEDA's default
	triggers              []subjectTrigger
	remarks               []string
}

// A subjectTrigger is one of an object's triggers and, in the end, what the server says of it.
type subjectTrigger struct {
	index    int
	kind     string // the trigger's type
	name     string
	metadata map[string]string      // as KEDA would send it
	over     *leadsmanv1.MetricsAPI // instead of metadata, where KEDA asks over HTTP
	metric   string                 // metricType
	asked    asked
	skipped  string // why it is not explained; "" when it is
	remarks  []string
	answer   *leadsmanv1.ExplainResponse // nil when skipped or failed
	failure  string                      // why there is no answer
}

// asked is whom KEDA asks, and the key that says so.
type asked struct{ key, address string }

func (o *explainOptions) run(cmd *cobra.Command, args []string) error {
	subjects, err := o.subjects(cmd.InOrStdin(), args)
	if err != nil {
		return err
	}
	return o.look(cmd, func(ctx context.Context, c *client, p *show.Printer) error {
		for i := range subjects {
			subjects[i].remarkOnAddress(c.server)
			if err := o.explain(ctx, c, &subjects[i]); err != nil {
				return err
			}
		}
		if err := printExplained(p, subjects); err != nil {
			return err
		}
		return verdict(subjects)
	})
}

// subjects reads what is to be explained.
func (o *explainOptions) subjects(stdin io.Reader, args []string) ([]subject, error) {
	pairs, err := parsePairs(append(o.metadata, args...), "write KEY=VALUE, such as queue=mail, or name a file by -f")
	if err != nil {
		return nil, err
	}
	env, err := parsePairs(o.env, "write --env NAME=value")
	if err != nil {
		return nil, fmt.Errorf("--env: %w", err)
	}
	switch {
	case len(o.files) == 0 && len(pairs) == 0:
		return nil, errors.New("there is nothing to explain: name a file by -f, - for standard input, or give metadata such as queue=mail")
	case len(o.files) > 0 && len(pairs) > 0:
		return nil, errors.New("both a file and metadata are given; leave one out")
	case len(o.files) > 0 && (o.min != 0 || o.max != 0):
		return nil, errors.New("--min and --max go with metadata; a file has its own minReplicaCount and maxReplicaCount")
	case len(o.files) == 0:
		return []subject{{
			namespace: o.namespace, min: o.min, max: o.max,
			triggers: []subjectTrigger{pairsTrigger(pairs)},
		}}, nil
	}
	all := explainDocuments{others: map[string]bool{}}
	for _, name := range o.files {
		data, err := readInput(name, stdin)
		if err == nil {
			err = all.add(data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", inputName(name), err)
		}
	}
	if len(all.scaled) == 0 {
		return nil, all.nothing(o.files)
	}
	return all.subjects(env, o.namespace), nil
}

// parsePairs reads key=value; the error ends with what is right.
func parsePairs(texts []string, right string) (map[string]string, error) {
	pairs := map[string]string{}
	for _, text := range texts {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("%q is no pair; %s", text, right)
		}
		if _, twice := pairs[key]; twice {
			return nil, fmt.Errorf("%s is given twice", key)
		}
		pairs[key] = value
	}
	return pairs, nil
}

// maxInput bounds a file, in bytes.
const maxInput = 16 << 20

// inputName is how a file is called in errors.
func inputName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

func readInput(name string, stdin io.Reader) ([]byte, error) {
	in := stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			if path, ok := errors.AsType[*os.PathError](err); ok {
				err = path.Err // the caller names the file
			}
			return nil, err
		}
		defer func() { _ = file.Close() }() // only read
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxInput {
		return nil, fmt.Errorf("holds more than %d MiB", maxInput>>20)
	}
	return data, nil
}

// explain asks the server about every trigger that is not skipped. It fails where asking about another has no sense.
func (o *explainOptions) explain(ctx context.Context, c *client, s *subject) error {
	for i := range s.triggers {
		t := &s.triggers[i]
		if t.skipped != "" || t.failure != "" {
			continue
		}
		answer, err := ask(ctx, c, c.inspector.Explain, &leadsmanv1.ExplainRequest{
			Metadata: t.metadata, MetricsApi: t.over, MetricType: t.metric,
			Namespace: s.namespace, CurrentReplicas: o.current, MinReplicas: s.min, MaxReplicas: s.max,
		})
		switch {
		case err == nil:
			t.answer, t.failure = answer, answer.GetError()
		case refused(err):
			t.failure = err.Error()
		default:
			return err
		}
	}
	return nil
}

// verdict is the error of a command that could not explain everything.
func verdict(subjects []subject) error {
	asked, failed := 0, 0
	for i := range subjects {
		for j := range subjects[i].triggers {
			switch t := &subjects[i].triggers[j]; {
			case t.skipped != "":
			case t.failure != "":
				failed++
				asked++
			default:
				asked++
			}
		}
	}
	switch {
	case asked == 0:
		return &failedError{errors.New("no trigger asks leadsman: none is of type external or external-push, " +
			"or a metrics-api with a URL of /api/scaler")}
	case failed > 0:
		return &failedError{fmt.Errorf("%d of %d triggers would be refused or cannot be answered", failed, asked)}
	default:
		return nil
	}
}

// together is what an object's triggers come to: the greatest of what they want, as the HPA does it.
func (s *subject) together() (replicas int32, active, complete bool) {
	replicas, complete = math.MinInt32, true
	for i := range s.triggers {
		t := &s.triggers[i]
		if t.answer == nil || t.answer.DesiredReplicas == nil {
			complete = false
			continue
		}
		replicas = max(replicas, t.answer.GetDesiredReplicas())
		active = active || t.answer.GetActive()
	}
	return replicas, active, complete
}
