/**
 * A front proxy as a process of its own: kubectl runs while the test waits. It knows people by name and password, and names them to the node in headers. A request
 * with a token passes unchanged. It reads `proxy.json` of its directory, and writes its URL to standard output.
 */
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

export interface ProxyFile {
  /** The certificate of the proxy, as a server and as a client. */
  readonly certPem: string;
  readonly keyPem: string;
  /** The authority of the node. */
  readonly caPem: string;
  readonly node: string;
  /** The groups of each person. The password is the name. */
  readonly people: Readonly<Record<string, readonly string[]>>;
}

const { certPem, keyPem, caPem, node, people } = JSON.parse(
  readFileSync(join(process.argv[2]!, 'proxy.json'), 'utf8'),
) as ProxyFile;

const server = createServer({ cert: certPem, key: keyPem }, (asked, answer) => {
  const { authorization = '', host: _host, ...headers } = asked.headers;
  const [, basic] = /^Basic (.*)$/.exec(authorization) ?? [];
  const [name = '', password = ''] = Buffer.from(basic ?? '', 'base64')
    .toString()
    .split(':');
  const groups = people[name];
  const isKnown = groups !== undefined && password === name;
  const identity = isKnown
    ? { 'x-remote-user': name, 'x-remote-group': [...groups], 'x-remote-extra-acme.io%2Fdesk': '7' }
    : basic === undefined
      ? { authorization }
      : {};
  const passed = request(
    `${node}${asked.url}`,
    { method: asked.method!, headers: { ...headers, ...identity }, ca: caPem, cert: certPem, key: keyPem },
    (came) => {
      answer.writeHead(came.statusCode ?? 502, came.headers);
      came.pipe(answer);
    },
  );
  passed.on('error', (error) => answer.writeHead(502).end(error.message));
  asked.pipe(passed);
});
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`https://127.0.0.1:${(server.address() as AddressInfo).port}\n`),
);
