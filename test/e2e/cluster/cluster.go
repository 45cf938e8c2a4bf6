package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// startTimeout is generous: six to nine seconds is what it takes on a machine with nothing else to do.
const startTimeout = 3 * time.Minute

// A Cluster is a running one.
type Cluster struct {
	// Client reads and writes objects of Kubernetes and of KEDA, as the administrator.
	Client client.WithWatch
	// Config is how Client connects.
	Config *rest.Config
	// Kubeconfig is a file that says the same.
	Kubeconfig string

	dir      string // all that the cluster writes, but
	logs     string // where each program has a file
	programs string // folder of the binaries
	pki      *pki

	running           []*program
	operator, adapter *program
}

// start starts a cluster and returns when KEDA works in it.
func start(dir, logs, programs string) (c *Cluster, err error) {
	c = &Cluster{dir: dir, logs: logs, programs: programs, Kubeconfig: filepath.Join(dir, "kubeconfig")}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.stop())
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := os.MkdirAll(logs, 0o700); err != nil {
		return c, err
	}
	if c.pki, err = newPKI(filepath.Join(dir, "pki")); err != nil {
		return c, fmt.Errorf("make certificates: %w", err)
	}
	if err := c.pki.writeKubeconfig(c.Kubeconfig, apiServerURL); err != nil {
		return c, err
	}
	if err := c.startKubernetes(ctx); err != nil {
		return c, err
	}
	err = c.startKEDA(ctx)
	return c, err
}

func (c *Cluster) startKubernetes(ctx context.Context) (err error) {
	if err := c.run(ctx, c.etcd(), answers(http.DefaultClient, etcdURL+"/health")); err != nil {
		return err
	}
	if c.Config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig); err != nil {
		return err
	}
	c.Config.QPS = -1 // tests ask as often as they like
	asAdmin, err := rest.HTTPClientFor(c.Config)
	if err != nil {
		return err
	}
	if err := c.run(ctx, c.apiServer(), answers(asAdmin, apiServerURL+"/readyz")); err != nil {
		return err
	}
	if c.Client, err = newClient(c.Config); err != nil {
		return err
	}
	// Its certificate it makes itself.
	trusting := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	return c.run(ctx, c.controllerManager(), answers(trusting, managerHealth))
}

func (c *Cluster) startKEDA(ctx context.Context) error {
	if err := c.createKinds(ctx); err != nil {
		return err
	}
	if err := c.installKEDA(ctx); err != nil {
		return fmt.Errorf("install KEDA: %w", err)
	}
	c.operator, c.adapter = c.kedaOperator(), c.kedaAdapter()
	if err := c.run(ctx, c.operator, answers(http.DefaultClient, operatorHealth)); err != nil {
		return err
	}
	// When external metrics are served, the apiserver reaches the adapter.
	asAdmin, err := rest.HTTPClientFor(c.Config)
	if err != nil {
		return err
	}
	return c.run(ctx, c.adapter, answers(asAdmin, apiServerURL+"/apis/external.metrics.k8s.io/v1beta1"))
}

// RestartOperator kills KEDA's operator, as a node that is lost does, and starts it again.
func (c *Cluster) RestartOperator(ctx context.Context) error {
	if err := c.operator.end(syscall.SIGKILL); err != nil {
		return err
	}
	if err := c.operator.start(); err != nil {
		return err
	}
	return c.operator.await(ctx, answers(http.DefaultClient, operatorHealth))
}

// OperatorPID is the process of KEDA's operator.
func (c *Cluster) OperatorPID() int { return c.operator.cmd.Process.Pid }

// run starts a program of the cluster and waits until it is ready.
func (c *Cluster) run(ctx context.Context, p *program, ready func(context.Context) error) error {
	if err := p.start(); err != nil {
		return err
	}
	c.running = append(c.running, p)
	return p.await(ctx, ready)
}

// stop ends all programs, the last first.
func (c *Cluster) stop() error {
	var errs []error
	for _, program := range slices.Backward(c.running) {
		errs = append(errs, program.end(syscall.SIGTERM))
	}
	return errors.Join(errs...)
}

// answers asks a URL for 200.
func answers(by *http.Client, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		resp, err := by.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("GET %s: %s", url, resp.Status)
		}
		return nil
	}
}
