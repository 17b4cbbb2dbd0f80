/**
 * `services.ts KUBECONFIG NAMESERVER`: the Services of a cluster in the network of a real node, instead of kube-proxy and a DNS server. The program gives each
 * Service its address, passes connections on to the present pod of the Service, and answers questions for NAME.NAMESPACE.svc. It looks again twice a second.
 */
import { spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect, createServer } from 'node:net';
import { parse } from 'yaml';

interface Listed<T> {
  readonly items: readonly T[];
}
interface Service {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: {
    readonly clusterIP?: string;
    readonly ports?: readonly { readonly name?: string; readonly port: number }[];
  };
}
interface Slice {
  readonly metadata: { readonly namespace: string; readonly labels?: Readonly<Record<string, string>> };
  readonly ports?: readonly { readonly name?: string; readonly port: number }[];
  readonly endpoints?: readonly {
    readonly addresses: readonly string[];
    readonly conditions?: { readonly ready?: boolean };
  }[];
}

const lookEveryMs = 500;
const [, , kubeconfig = '', nameserver = ''] = process.argv;
const config = parse(readFileSync(kubeconfig, 'utf8')) as {
  clusters: [{ cluster: Record<string, string> }];
  users: [{ user: Record<string, string> }];
};
const { cluster } = config.clusters[0];
const { user } = config.users[0];
const pem = (data?: string) => (data === undefined ? undefined : Buffer.from(data, 'base64'));
/** Pods by `10.0.0.7:6443`, and addresses by `banyan.eu.svc`. */
const pods = new Map<string, { host: string; port: number }>();
const addresses = new Map<string, string>();
const served = new Set<string>();

ip('address', 'replace', `${nameserver}/32`, 'dev', 'outside');
const dns = createSocket('udp4');
dns.on('message', (question, { address, port }) => dns.send(answerTo(question), port, address));
dns.bind(53, nameserver);
for (;;) {
  await look().catch(() => {});
  await new Promise((done) => setTimeout(done, lookEveryMs));
}

async function look(): Promise<void> {
  const [services, slices] = await Promise.all([
    list<Service>('/api/v1/services'),
    list<Slice>('/apis/discovery.k8s.io/v1/endpointslices'),
  ]);
  for (const { metadata, spec } of services.items) {
    const { clusterIP = 'None', ports = [] } = spec;
    if (clusterIP === 'None' || metadata.name === 'kubernetes') continue;
    addresses.set(`${metadata.name}.${metadata.namespace}.svc`, clusterIP);
    const own = slices.items.filter(
      ({ metadata: { namespace, labels } }) =>
        namespace === metadata.namespace && labels?.['kubernetes.io/service-name'] === metadata.name,
    );
    for (const { name, port } of ports) {
      const slice = own.find(({ endpoints }) => endpoints?.some(({ conditions }) => conditions?.ready !== false));
      const host = slice?.endpoints?.find(({ conditions }) => conditions?.ready !== false)?.addresses[0];
      const target = slice?.ports?.find((one) => one.name === name)?.port;
      const at = `${clusterIP}:${port}`;
      if (host === undefined || target === undefined) pods.delete(at);
      else pods.set(at, { host, port: target });
      serve(clusterIP, port, at);
    }
  }
}

function serve(host: string, port: number, at: string): void {
  if (served.has(at)) return;
  served.add(at);
  ip('address', 'replace', `${host}/32`, 'dev', 'outside');
  createServer((near) => {
    const pod = pods.get(at);
    if (!pod) return near.destroy();
    const far = connect(pod);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
      from.pipe(to);
    }
    return near;
  }).listen(port, host);
}

/** The address of a Service, or that there is no such name. https://www.rfc-editor.org/rfc/rfc1035#section-4.1 */
function answerTo(question: Buffer): Buffer {
  const labels: string[] = [];
  let at = 12;
  while (question[at]) {
    labels.push(question.toString('latin1', at + 1, at + 1 + question[at]!));
    at += 1 + question[at]!;
  }
  const asked = question.subarray(12, at + 5);
  const isForIpv4 = question.readUInt16BE(at + 1) === 1;
  const known = addresses.get(
    labels
      .join('.')
      .toLowerCase()
      .replace(/\.cluster\.local$/, ''),
  );
  const address = isForIpv4 ? known : undefined;
  const head = Buffer.from(question.subarray(0, 12));
  head.writeUInt16BE(known === undefined ? 0x8583 : 0x8580, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(address === undefined ? 0 : 1, 6);
  head.writeUInt32BE(0, 8);
  if (address === undefined) return Buffer.concat([head, asked]);
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, ...address.split('.').map(Number)]);
  return Buffer.concat([head, asked, record]);
}

function list<T>(path: string): Promise<Listed<T>> {
  return new Promise((resolve, reject) => {
    const tls = {
      ca: pem(cluster['certificate-authority-data']),
      cert: pem(user['client-certificate-data']),
      key: pem(user['client-key-data']),
    };
    const headers = user.token === undefined ? {} : { authorization: `Bearer ${user.token}` };
    request(`${cluster.server}${path}`, { ...tls, headers, timeout: 10_000 }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () => {
        if (response.statusCode === 200) resolve(JSON.parse(body) as Listed<T>);
        else reject(new Error(body));
      });
    })
      .on('error', reject)
      .end();
  });
}

function ip(...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync('ip', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${error?.message ?? stderr}`);
}
