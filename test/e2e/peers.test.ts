import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAuthority, issueNode, type KeyAndCertificate } from '../../core/identity/authority.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { ownVersions } from '../../core/session/handshake.ts';
import { type Frame, Hello } from '../../core/wire/generated/mesh.ts';
import { grpcDialer } from '../../core/wire/grpc/grpc-dialer.ts';
import type { Link } from '../../core/wire/link.ts';
import { wayTo } from '../support/ways.ts';
import { LocalTree, until } from './local-tree.ts';

const topology = join(tmpdir(), `banyan-peers-${process.pid}.yaml`);
writeFileSync(
  topology,
  `apiVersion: banyan.io/v1alpha1
kind: Topology
metadata: {name: peers}
spec:
  center: {spaces: [{name: retail}]}
  clusters: [{name: till}, {name: kiosk}]
`,
);
const issuing = { clock: systemClock, random: systemRandom };
const hosts = ['127.0.0.1'];

/** The frames that a stranger at the center's mesh port sends and receives. */
interface Stranger {
  readonly link: Link;
  readonly frames: Frame[];
  closed?: { error?: Error };
}

describe('a peer with a wrong identity or a wrong message', () => {
  const tree = new LocalTree(topology);
  let authority: KeyAndCertificate;

  beforeAll(async () => {
    await tree.up();
    authority = pairOf('ca');
  });
  const pairOf = (name: string): KeyAndCertificate => {
    const read = (file: string) => readFileSync(join(tree.data, 'pki', file), 'utf8');
    return { certPem: read(`${name}.crt`), keyPem: read(`${name}.key`) };
  };
  afterAll(() => tree[Symbol.asyncDispose]());

  async function dial(path: string, role: 'relay' | 'agent', by: KeyAndCertificate = authority): Promise<Stranger> {
    return dialWith(await issueNode(by, { tree: 'peers', path, role, hosts }, issuing));
  }

  async function dialWith({ certPem, keyPem }: KeyAndCertificate): Promise<Stranger> {
    const ports = JSON.parse(readFileSync(join(tree.data, 'ports.json'), 'utf8')) as Record<string, { mesh: number }>;
    const pem = (text: string) => Buffer.from(text);
    const dialer = grpcDialer(
      wayTo({
        address: `127.0.0.1:${ports['']!.mesh}`,
        parentPath: '',
        credentials: { caPem: pem(authority.certPem), certPem: pem(certPem), keyPem: pem(keyPem) },
        clock: systemClock,
      }),
    );
    const frames: Frame[] = [];
    const received: { closed?: { error?: Error } } = {};
    const link = await dialer.dial(
      {
        onFrame: (frame) => frames.push(frame),
        onBytes() {},
        onDrain() {},
        onClose: (error) => {
          received.closed = error ? { error } : {};
        },
      },
      5_000,
    );
    return Object.assign(received, { link, frames });
  }

  const hello = (path: string, role: string, more: Partial<Hello> = {}): Frame => ({
    frame: {
      $case: 'hello',
      value: {
        ...Hello.decode(new Uint8Array(0)),
        versionMin: 1,
        versionMax: 1,
        path,
        role,
        bootCounter: Math.floor(Date.now() / 1000) + 1_000_000,
        bootNonce: Buffer.from(systemRandom.bytes(16)),
        attachSequence: 0,
        down: { epoch: Buffer.alloc(0), incarnation: Buffer.alloc(0), cursor: 0, seenHead: 0 },
        downCreditBytes: 1 << 20,
        maxFrameBytes: 4 << 20,
        software: 'test',
        transport: 'grpc',
        ...more,
      },
    },
  });

  const refusal = async (stranger: Stranger): Promise<{ reason: string; message: string }> => {
    await until('it is answered', () => stranger.frames.length > 0);
    const [first] = stranger.frames;
    if (first?.frame?.$case !== 'retry') throw new Error(`not refused: ${first?.frame?.$case}`);
    return first.frame.value;
  };
  const centerLog = () => readFileSync(join(tree.data, 'logs', 'center.log'), 'utf8');
  const attachments = (child: string) =>
    centerLog()
      .split('\n')
      .filter((line) => line.includes('a child is attached') && line.includes(`"child":"${child}"`)).length;
  const attachedOnce = (child: string) => attachments(child) === 1;

  it('from another tree is refused', async () => {
    const other = await createAuthority('peers', issuing);
    await expect(dial('till', 'agent', other)).rejects.toMatchObject({
      code: expect.stringMatching(/Un(authorized|available)/),
    });
  });

  it('with a name of a node of another kind reads who has the name', async () => {
    const stranger = await dial('till', 'relay');
    stranger.link.send(hello('till', 'relay'));
    expect((await refusal(stranger)).message).toBe(
      'the name "till" is taken by an agent: give this relay another name',
    );
  });

  it('with the certificate of an attached cluster but another store reads that two nodes run with one identity', async () => {
    const stranger = await dialWith(pairOf('till'));
    stranger.link.send(hello('till', 'agent', { bootCounter: 1 }));
    const { reason, message } = await refusal(stranger);
    expect(reason).toBe('clone');
    expect(message).toContain('two nodes run with one identity; end one, or give it an identity of its own');
  });

  it('that is not in the inventory reads what to create', async () => {
    const stranger = await dial('nobody', 'agent');
    stranger.link.send(hello('nobody', 'agent'));
    expect((await refusal(stranger)).message).toContain(
      'there is no SyncTarget "nobody" here, nor one with spec.attachTo "nobody"',
    );
  });

  it('whose hello is for another path than its certificate is refused with both paths', async () => {
    const stranger = await dial('till', 'agent');
    stranger.link.send(hello('kiosk', 'agent'));
    expect((await refusal(stranger)).message).toBe('the certificate is for "till", the hello for "kiosk"');
  });

  it('that speaks an unknown version reads the supported versions', async () => {
    const stranger = await dial('till', 'agent');
    stranger.link.send(hello('till', 'agent', { versionMin: 98, versionMax: 99 }));
    const { reason, message } = await refusal(stranger);
    expect(reason).toBe('version');
    expect(message).toBe(
      `the child speaks versions 98 to 99 of the protocol, this parent ${ownVersions}: upgrade the older one`,
    );
  });

  it('that sends frames out of place after the handshake ends its own session and nothing else', async () => {
    tree.ok('node/center', 'apply', '-f', writeInventory('spare'));
    const stranger = await dial('spare', 'agent');
    stranger.link.send(hello('spare', 'agent'));
    await until('it is welcome', () => stranger.frames.some(({ frame }) => frame?.$case === 'welcome'));
    stranger.link.send(hello('spare', 'agent'));
    await until('the link is closed', () => stranger.closed !== undefined);
    await until('the log says why', () => centerLog().includes('a hello in the middle of a session'));
  });

  it('has disturbed no other node, and no refused certificate keeps the agent from coming again', async () => {
    expect([attachedOnce('till'), attachedOnce('kiosk')]).toEqual([true, true]);
    expect(tree.json('cluster/till', 'ns', 'default')).toBeDefined();
    tree.kill('till');
    await until('the agent is attached again', () => attachments('till') === 2);
  });

  function writeInventory(name: string): string {
    const file = join(tree.data, `${name}.json`);
    const metadata = { name };
    const apiVersion = 'inventory.banyan.io/v1alpha1';
    const items = [
      { apiVersion, kind: 'SyncTarget', metadata, spec: {} },
      { apiVersion, kind: 'Location', metadata, spec: {} },
    ];
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    return file;
  }
});
