import { type ClientHttp2Session, connect } from 'node:http2';
import { beforeAll, describe, expect, it } from 'vitest';
import { type FrontProxyConfig, frontProxySchema } from '../../../../../core/authentication/front-proxy.ts';
import {
  createAuthority,
  createUserAuthority,
  issueNode,
  issueUser,
  type KeyAndCertificate,
} from '../../../../../core/identity/authority.ts';
import { systemClock } from '../../../../../core/runtime/clock.ts';
import { systemRandom } from '../../../../../core/runtime/random.ts';
import { ApiBench, answerOf, tls } from './api-bench.ts';

const issuing = { clock: systemClock, random: systemRandom };
const alice = { name: 'alice', groups: ['system:masters'] };
let nodes: KeyAndCertificate;
let users: KeyAndCertificate;
let nextUsers: KeyAndCertificate;
let proxies: KeyAndCertificate;
beforeAll(async () => {
  nodes = await createAuthority('test', issuing);
  users = await createUserAuthority('test', issuing);
  nextUsers = await createUserAuthority('test', issuing);
  proxies = await createAuthority('proxies', issuing);
});

/** Who the client with this certificate is. Undefined: the server does not know. */
async function whoIs(
  shown: KeyAndCertificate | undefined,
  {
    ca = [users],
    frontProxy,
    headers = {},
  }: {
    ca?: KeyAndCertificate[];
    frontProxy?: FrontProxyConfig;
    headers?: Record<string, string | string[]>;
  } = {},
): Promise<string | undefined> {
  const { ca: serverCa, server } = await tls;
  const present = {
    ca: Buffer.from(ca.map(({ certPem }) => certPem).join('\n')),
    cert: Buffer.from(server.certPem),
    key: Buffer.from(server.keyPem),
    ...(frontProxy ? { frontProxyCa: Buffer.from(proxies.certPem) } : {}),
  };
  await using api = await ApiBench.start({
    certificate: false,
    renewed: () => present,
    ...(frontProxy ? { frontProxy } : {}),
  });
  const credentials = shown ? { cert: shown.certPem, key: shown.keyPem } : {};
  const session: ClientHttp2Session = connect(api.url, { ca: serverCa, ...credentials });
  try {
    const asked = session.request({ ':method': 'GET', ':path': '/tree/eu', ...headers }, { endStream: true });
    const answer = await answerOf(asked);
    return answer.status === 200 ? answer.json<{ user: string }>().user : undefined;
  } finally {
    session.close();
  }
}

describe('a certificate', () => {
  it('is of a user if an authority of users has signed it, also while one authority replaces another', async () => {
    const [ofUsers, ofNext] = [await issueUser(users, alice, issuing), await issueUser(nextUsers, alice, issuing)];
    expect(await whoIs(ofUsers)).toBe('alice');
    expect(await whoIs(ofNext)).toBeUndefined();
    expect(await whoIs(ofNext, { ca: [users, nextUsers] })).toBe('alice');
    expect(await whoIs(await issueUser(nodes, alice, issuing))).toBeUndefined();
  });

  it('of a node is of no user, also if the authority of nodes is the one of users too', async () => {
    const relay = await issueNode(nodes, { tree: 'test', role: 'relay', path: 'eu', hosts: [] }, issuing);
    expect(await whoIs(relay)).toBeUndefined();
    expect(await whoIs(relay, { ca: [nodes, users] })).toBeUndefined();
    expect(await whoIs(await issueUser(nodes, alice, issuing), { ca: [nodes, users] })).toBe('alice');
  });
});

describe('a front proxy', () => {
  const named = { 'x-remote-user': 'bob', 'x-remote-group': ['tills', 'system:masters'] };
  const frontProxy = frontProxySchema.parse({ clientCA: 'file', allowedNames: ['front'] });

  it('names users if the configuration names its authority and itself', async () => {
    const front = await issueUser(proxies, { name: 'front', groups: [] }, issuing);
    expect(await whoIs(front, { frontProxy, headers: named })).toBe('bob');
    expect(await whoIs(front, { frontProxy })).toBeUndefined();
    expect(await whoIs(front, { headers: named })).toBeUndefined();
    const other = await issueUser(proxies, { name: 'other', groups: ['system:masters'] }, issuing);
    expect(await whoIs(other, { frontProxy, headers: named })).toBeUndefined();
  });

  it('is nobody who has a certificate of another authority, or none', async () => {
    const front = await issueUser(users, { name: 'front', groups: ['system:masters'] }, issuing);
    expect(await whoIs(front, { frontProxy, headers: named })).toBe('front');
    expect(await whoIs(undefined, { frontProxy, headers: named })).toBeUndefined();
  });
});
