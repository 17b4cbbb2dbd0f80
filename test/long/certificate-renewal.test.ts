/**
 * Agents whose certificates last a minute: each is renewed while its process runs, and the agent continues with the next one when the first has expired. Real
 * processes, real time.
 */
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { NodeApiClient } from '../../center/cli/api-client.ts';
import { issueJoined } from '../../core/identity/authority.ts';
import { judgeRequest, requestFor } from '../../core/identity/certificate-request.ts';
import { validityOf } from '../../core/identity/certificate-validity.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { AgentProcess, enroll } from '../e2e/agent-process.ts';
import { banyan, LocalTree, until, untilAnswered } from '../e2e/local-tree.ts';
import { trueCondition } from '../e2e/one-site.ts';
import { Till, tillAtFirst } from '../e2e/till.ts';

const topology = {
  apiVersion: 'banyan.io/v1alpha1',
  kind: 'Topology',
  metadata: { name: 'renewing' },
  spec: { relays: [{ name: 'eu', spaces: [{ name: 'ops' }], issuer: { certificateSeconds: 60 } }] },
};
const space = 'space/eu/ops';

interface Line {
  readonly msg: string;
  readonly child?: string;
  readonly reason?: string;
  readonly resumes?: boolean;
}

describe('an agent whose certificate lasts a minute', () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-renewal-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const agents: AgentProcess[] = [];
  let api: NodeApiClient;
  let till: Till;

  beforeAll(async () => {
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up();
    api = new NodeApiClient(join(tree.data, 'kubeconfig'));
    till = new Till(api, space);
    for (const object of (tillAtFirst() as { items: { kind: string; metadata: { name: string } }[] }).items) {
      const { kind, metadata } = object;
      if (kind === 'Namespace') await api.apply(space, `/api/v1/namespaces/${metadata.name}`, object as never);
      if (kind === 'EdgePlacement') {
        await api.apply(space, `/apis/edge.banyan.io/v1alpha1/edgeplacements/${metadata.name}`, object as never);
      }
    }
    await till.write('word', 'first');
  });
  afterAll(async () => {
    for (const agent of agents) await agent.stop();
    api?.close();
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const lines = (file: string): Line[] =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Line] : []));
  const relayLines = (child: string, message: string) =>
    lines(join(tree.data, 'logs', 'eu.log')).filter((line) => line.child === child && line.msg === message);

  function start(name: string, pki: object): AgentProcess {
    const own = join(directory, name);
    const agent = new AgentProcess({ tree, directory: own, name, pki, cluster: { embedded: {} } });
    agents.push(agent);
    agent.start();
    return agent;
  }

  /** The objects on the agent's cluster. An agent has no server certificate, so the connection is not verified. */
  function onCluster(statusFile: string, path: string): Promise<{ uid: string | undefined; text: string | undefined }> {
    const { url } = JSON.parse(readFileSync(statusFile, 'utf8')) as { url: string };
    const pki = (of: string) => readFileSync(join(tree.data, 'pki', of));
    const [cert, key] = [pki('user-admin.crt'), pki('user-admin.key')];
    return new Promise((resolve, reject) => {
      const asked = request(`${url}${path}`, { cert, key, rejectUnauthorized: false, agent: false }, (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          body += chunk;
        });
        response.on('end', () => {
          const { metadata, data } = JSON.parse(body) as { metadata: { uid?: string }; data?: { text?: string } };
          resolve({ uid: metadata.uid, text: data?.text });
        });
      });
      asked.on('error', reject);
      asked.end();
    });
  }
  const configMap = (name: string) => `/api/v1/namespaces/till/configmaps/${name}`;

  /** From its first certificate to after the expiry, with writes to the space all the time. */
  async function outlives(name: string, agent: ReturnType<typeof start>, certificateFile: string): Promise<void> {
    const certificate = () => new X509Certificate(readFileSync(certificateFile));
    await until('the agent is attached', () => relayLines(name, 'a child is attached').length > 0);
    const status = agent.file('status.json');
    await until('the agent serves', () => existsSync(status));
    await untilAnswered('it is there', async () => (await onCluster(status, configMap('word'))).text === 'first');
    const before = await onCluster(status, configMap('word'));
    const first = certificate();

    let written = 0;
    let isOver = false;
    const writing = (async () => {
      while (!isOver) {
        await till.write(`count-${name}`, String(++written));
        await new Promise((done) => setTimeout(done, 200));
      }
    })();
    await until('there is another certificate', () => certificate().serialNumber !== first.serialNumber, 70);
    const renewedMs = Date.now();
    const [validity, next] = [validityOf(first), validityOf(certificate())];
    expect(renewedMs).toBeGreaterThanOrEqual(validity.renewAtMs);
    expect(renewedMs).toBeLessThan(validity.endsAtMs);
    expect(next.endsAtMs).toBeGreaterThan(validity.endsAtMs);
    expect(certificate().subjectAltName).toBe(`URI:spiffe://renewing/node/agent/eu/${name}`);

    const ended = () =>
      relayLines(name, 'a child is detached').filter(({ reason }) => reason?.includes(`expired on ${first.validTo}`));
    await until('the session with the first has ended', () => ended().length > 0, 70);
    await until('the agent is attached with the next', () => relayLines(name, 'a child is attached').length > 1);
    expect(Date.now()).toBeGreaterThanOrEqual(validity.endsAtMs);
    expect(relayLines(name, 'a child is attached')[1]).toMatchObject({ resumes: true });
    isOver = true;
    await writing;
    await untilAnswered(
      'what was written last is there',
      async () => (await onCluster(status, configMap(`count-${name}`))).text === String(written),
    );
    expect(await onCluster(status, configMap('word'))).toEqual(before);
    expect(agent.isRunning).toBe(true);
  }

  it.concurrent('and that joined with a token is renewed in time, and loses nothing when the first certificate expires', async () => {
    const { code, out } = banyan('join-token', 'eu:till', '--label', 'env=prod', '--data', tree.data);
    expect([code, out]).toEqual([0, expect.stringMatching(/^banyan-join-1\./)]);
    writeFileSync(join(directory, 'token'), out);
    const agent = start('till', { joinToken: join(directory, 'token') });
    await until('the agent has joined', () => existsSync(agent.file('data/identity/tls.crt')));
    await outlives('till', agent, agent.file('data/identity/tls.crt'));
  }, 240_000);

  /** Its files, with a certificate of the tree's authority of the same lifetime. */
  async function enrolled(name: string): Promise<{ ca: string; cert: string; key: string }> {
    const path = `eu:${name}`;
    const files = enroll(tree, name, join(directory, name));
    const read = (file: string) => readFileSync(join(tree.data, 'pki', file), 'utf8');
    const authority = { certPem: read('ca.crt'), keyPem: read('ca.key') };
    const id = `spiffe://renewing/node/agent/eu/${name}`;
    const judged = await judgeRequest(await requestFor(path, readFileSync(files.key, 'utf8')), {
      path,
      id,
      role: 'agent',
      hosts: [],
    });
    writeFileSync(
      files.cert,
      await issueJoined(authority, judged, { clock: systemClock, random: systemRandom }, { lifeMs: 60_000 }),
    );
    return files;
  }

  it.concurrent('and that was enrolled is renewed in the same way, in its file', async () => {
    const files = await enrolled('kiosk');
    await outlives('kiosk', start('kiosk', files), files.cert);
    const [leaf] = readFileSync(files.cert, 'utf8').split(/(?<=-----END CERTIFICATE-----)/);
    expect(new X509Certificate(leaf!).issuer).toContain('OU=banyan-issuer');
    expect(lines(join(directory, 'kiosk', 'log')).map(({ msg }) => msg)).toContain(
      'renewed certificate files are used from now on',
    );
  }, 240_000);

  it.concurrent('and whose file somebody else renews reports before the expiry that the certificate will expire', async () => {
    const files = await enrolled('depot');
    // As kubelet mounts a Secret.
    renameSync(files.cert, `${files.cert}.kept`);
    symlinkSync(`${files.cert}.kept`, files.cert);
    const { validTo } = new X509Certificate(readFileSync(files.cert));
    start('depot', files);
    const trouble = async (at: string) => trueCondition(await api.get('node/eu', at), 'CertificateTrouble')?.message;
    for (const at of ['inventory.banyan.io/v1alpha1/synctargets/depot', 'mesh.banyan.io/v1alpha1/nodes/eu.depot']) {
      await untilAnswered('it is said', async () => (await trouble(`/apis/${at}`)) !== undefined, 70);
      expect(await trouble(`/apis/${at}`)).toMatch(
        new RegExp(`^its certificate ends on ${validTo} and was not renewed: pki\\.cert: .*tls\\.crt is a link`),
      );
    }
  });
});
