package cluster

import (
	"crypto"
	"crypto/x509"
	"net"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	"k8s.io/kubernetes/cmd/kubeadm/app/util/pkiutil"
)

// A pki is the cluster's certificates, in files of one folder: ca, apiserver, admin, front-proxy and tls (KEDA's) each with
// .crt and .key, and sa.key and sa.pub for service accounts.
type pki struct {
	dir   string
	ca    *x509.Certificate
	caKey crypto.Signer
}

// rsa is what service accounts' tokens and KEDA want.
const rsa = kubeadm.EncryptionAlgorithmRSA2048

func newPKI(dir string) (*pki, error) {
	ca, key, err := pkiutil.NewCertificateAuthority(&pkiutil.CertConfig{
		Config: certutil.Config{CommonName: "leadsman-e2e"}, EncryptionAlgorithm: rsa,
	})
	if err != nil {
		return nil, err
	}
	p := &pki{dir: dir, ca: ca, caKey: key}
	if err := pkiutil.WriteCertAndKey(dir, "ca", ca, key); err != nil {
		return nil, err
	}
	loopback := certutil.AltNames{
		DNSNames: []string{"localhost", "keda-metrics-apiserver.keda.svc"},
		IPs:      []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 1)},
	}
	server, client := x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth
	for name, config := range map[string]certutil.Config{
		"apiserver":   {CommonName: "kube-apiserver", AltNames: loopback, Usages: []x509.ExtKeyUsage{server}},
		"admin":       {CommonName: "admin", Organization: []string{"system:masters"}, Usages: []x509.ExtKeyUsage{client}},
		"front-proxy": {CommonName: "front-proxy-client", Usages: []x509.ExtKeyUsage{client}},
		"tls":         {CommonName: "keda", AltNames: loopback, Usages: []x509.ExtKeyUsage{server, client}},
	} {
		if err := p.issue(name, config); err != nil {
			return nil, err
		}
	}
	accounts, err := pkiutil.GeneratePrivateKey(rsa)
	if err != nil {
		return nil, err
	}
	if err := pkiutil.WriteKey(dir, "sa", accounts); err != nil {
		return nil, err
	}
	return p, pkiutil.WritePublicKey(dir, "sa", accounts.Public())
}

func (p *pki) issue(name string, config certutil.Config) error {
	cert, key, err := pkiutil.NewCertAndKey(p.ca, p.caKey, &pkiutil.CertConfig{Config: config, EncryptionAlgorithm: rsa})
	if err != nil {
		return err
	}
	return pkiutil.WriteCertAndKey(p.dir, name, cert, key)
}

// path is that of a file.
func (p *pki) path(file string) string { return filepath.Join(p.dir, file) }

// writeKubeconfig writes a file by which programs connect to the apiserver as its administrator.
func (p *pki) writeKubeconfig(file, server string) error {
	const name = "e2e"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthority: p.path("ca.crt")}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificate: p.path("admin.crt"), ClientKey: p.path("admin.key"),
	}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return clientcmd.WriteToFile(*config, file)
}
