package manifest

// A triggerAuthentication is KEDA's, for objects of its own namespace alone.
type triggerAuthentication struct {
	header `yaml:",inline"`

	Spec triggerAuthenticationSpec `yaml:"spec"`
}

type triggerAuthenticationSpec struct {
	SecretTargetRef []secretTarget `yaml:"secretTargetRef"`
}

type secretTarget struct {
	Parameter string `yaml:"parameter"`
	Name      string `yaml:"name"`
	Key       string `yaml:"key"`
}

func (s *Spec) authenticationName() string { return s.Name + "-leadsman" }

// triggerAuthentication makes what the queue's trigger is authenticated by, if that is anything in a Secret.
func (s *Spec) triggerAuthentication() (Object, bool) {
	ca, certificate, key, note := "caCert", "tlsClientCert", "tlsClientKey",
		"KEDA's connection to leadsman: nothing else of a TriggerAuthentication reaches an external scaler."
	if !s.Mode.overGRPC() {
		ca, certificate, key, note = "ca", "cert", "key", ""
	}
	var from []secretTarget
	if s.TokenFrom.Secret != "" {
		from = append(from, secretTarget{"token", s.TokenFrom.Secret, s.TokenFrom.Key})
	}
	if s.TLS != nil {
		if s.TLS.CASecret != "" {
			from = append(from, secretTarget{ca, s.TLS.CASecret, "ca.crt"})
		}
		if s.TLS.ClientSecret != "" {
			from = append(from, secretTarget{certificate, s.TLS.ClientSecret, "tls.crt"}, secretTarget{key, s.TLS.ClientSecret, "tls.key"})
		}
	}
	if len(from) == 0 {
		return Object{}, false
	}
	body := triggerAuthentication{
		header: s.header("keda.sh/v1alpha1", "TriggerAuthentication", s.authenticationName()),
		Spec:   triggerAuthenticationSpec{SecretTargetRef: from},
	}
	return Object{Body: body, Head: note, id: body.identity()}, true
}
