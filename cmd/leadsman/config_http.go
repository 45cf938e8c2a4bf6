package main

// httpOff is what http.listen says where there is to be no HTTP.
const httpOff = "off"

// What http.auth may say.
const (
	authToken = "token"
	authNone  = "none"
)

// resolve checks where HTTP is served, and that the TLS files can be used.
func (f fileHTTP) resolve(dir string, found *faults) HTTPConfig {
	c := HTTPConfig{Listen: defaultHTTPListen}
	if f.Listen != nil {
		c.Listen = *f.Listen
	}
	switch f.Auth {
	case "", authToken:
	case authNone:
		c.Everybody = true
	default:
		found.addf("http.auth", "%q is neither token nor none", f.Auth)
	}
	if c.Listen == "" || c.Listen == httpOff {
		return HTTPConfig{}
	}
	checkListen("http.listen", c.Listen, defaultHTTPListen, found)
	c.TLS = f.TLS.resolve(dir, "http.tls", found)
	return c
}

// guardHTTP refuses to serve everybody on a network by accident, as guard does.
func (f *fileConfig) guardHTTP(c *HTTPConfig, found *faults) {
	if c.Listen == "" {
		return
	}
	if f.HTTP.Auth == authToken && f.open() {
		found.addf("http.auth", "is token, and there are neither tokens nor a client CA; add tokens (leadsman token new), "+
			"set http.tls.clientCAFile, or remove http.auth")
		return
	}
	switch {
	case loopback(c.Listen) || f.AllowInsecure:
	case f.open():
		found.addf("http.listen", "%q can be reached from other machines, and there are neither tokens nor a client CA; "+
			"add tokens (leadsman token new), set http.tls.clientCAFile, listen on 127.0.0.1, write %q, or set allowInsecure: true",
			c.Listen, httpOff)
	case c.Everybody:
		found.addf("http.auth", "is none, and %q can be reached from other machines; remove http.auth, listen on 127.0.0.1, "+
			"or set allowInsecure: true", c.Listen)
	case f.HTTP.TLS == (fileTLS{}):
		found.warnf("http.tls", "is not set: tokens travel in clear to %q", c.Listen)
	}
}
