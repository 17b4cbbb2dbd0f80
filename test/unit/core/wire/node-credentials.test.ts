import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { type Logger, silentLogger } from '../../../../core/runtime/logger.ts';
import { grpcDialer } from '../../../../core/wire/grpc/grpc-dialer.ts';
import type { Link } from '../../../../core/wire/link.ts';
import { listenMesh } from '../../../../core/wire/network/mesh-listener.ts';
import {
  currentOf,
  type NodeCredentials,
  perCredentials,
  renewedCredentials,
} from '../../../../core/wire/node-credentials.ts';
import { LinkLog } from '../../../support/link-log.ts';
import { TestTree } from '../../../support/test-tree.ts';
import { wayTo } from '../../../support/ways.ts';

let first: NodeCredentials;
let second: NodeCredentials;
let others: NodeCredentials;
let kid: NodeCredentials;
beforeAll(async () => {
  const tree = await TestTree.create();
  first = await tree.credentials('eu', 'relay');
  second = await tree.credentials('eu', 'relay');
  kid = await tree.credentials('eu:kid', 'agent');
  others = await (await TestTree.create()).credentials('eu', 'relay');
});

let files: NodeCredentials;
let reads: number;
let warnings: string[];
let clock: VirtualClock;
beforeEach(() => {
  files = first;
  reads = 0;
  warnings = [];
  clock = new VirtualClock();
});

const log: Logger = {
  ...silentLogger,
  warn: (fields: object) => void warnings.push((fields as { reason: string }).reason),
};

function credentials(): NodeCredentials {
  const read = () => {
    reads++;
    return { caPem: files.caPem, certPem: files.certPem, keyPem: files.keyPem };
  };
  return renewedCredentials({ clock, log, read });
}

const halfOf = (pem: Buffer) => pem.subarray(0, pem.length / 2);
const joined = (...pems: Buffer[]) => Buffer.from(pems.join('\n'));

describe('the credentials of a node', () => {
  it('are the present contents of the files', () => {
    const read = credentials();
    expect(read.certPem).toEqual(first.certPem);
    files = second;
    clock.advance(1_000);
    expect(currentOf(read).certPem).toEqual(second.certPem);
    expect(currentOf(currentOf(read)).keyPem).toEqual(second.keyPem);
  });

  it('are read once a second, however many ask', () => {
    const read = credentials();
    clock.advance(1_000);
    for (let i = 0; i < 100; i++) currentOf(read);
    expect(reads).toBe(2);
  });

  it('stay the same object while the files are the same, so that nothing is derived from them twice', () => {
    const read = credentials();
    let made = 0;
    const made$ = perCredentials(read, () => ++made);
    for (let i = 0; i < 3; i++) {
      clock.advance(1_000);
      expect(made$()).toBe(1);
    }
    files = second;
    clock.advance(1_000);
    expect([made$(), made$()]).toEqual([2, 2]);
  });

  it('do not change while only half of the files is renewed, and report this once', () => {
    const read = credentials();
    files = { ...first, certPem: second.certPem };
    for (let i = 0; i < 3; i++) {
      clock.advance(1_000);
      expect(currentOf(read).certPem).toEqual(first.certPem);
    }
    expect(warnings).toEqual(['the key is not the one of the certificate']);
    files = second;
    clock.advance(1_000);
    expect(currentOf(read).certPem).toEqual(second.certPem);
  });

  it('do not change while a file is only half written', () => {
    const whole = first.caPem;
    const half = halfOf(second.certPem);
    const read = credentials();
    for (const unfinished of [
      { certPem: joined(first.certPem, half) },
      { caPem: Buffer.alloc(0) },
      { caPem: halfOf(whole) },
      { caPem: joined(whole, half) },
    ]) {
      files = { ...first, ...unfinished };
      clock.advance(1_000);
      expect(currentOf(read)).toBe(read);
    }
    expect(warnings).toEqual([expect.stringContaining('bad end line'), 'the file of authorities is not whole']);
    files = { ...first, caPem: joined(whole, second.certPem) };
    clock.advance(1_000);
    expect(currentOf(read).caPem).toEqual(files.caPem);
  });
});

describe('renewed files', () => {
  async function shownBy(address: string): Promise<string> {
    const [host, port] = address.split(':') as [string, string];
    const socket: TLSSocket = connect({ host, port: Number(port), rejectUnauthorized: false });
    socket.on('error', () => {});
    await once(socket, 'secureConnect');
    const shown = socket.getPeerX509Certificate()!.toString();
    socket.destroy();
    return shown.trim();
  }

  it('are shown by a listener to new connections, and do not affect open ones', async () => {
    const accepted: Link[] = [];
    const listener = await listenMesh({
      host: '127.0.0.1',
      port: 0,
      credentials: credentials(),
      log: silentLogger,
      accept: (link) => {
        accepted.push(link);
        return new LinkLog();
      },
    });
    try {
      const way = wayTo({ address: listener.address, parentPath: 'eu', credentials: kid, clock });
      const ended = new LinkLog();
      await grpcDialer(way).dial(ended, 10_000);
      expect(await shownBy(listener.address)).toBe(first.certPem.toString().trim());
      files = second;
      clock.advance(1_000);
      expect(await shownBy(listener.address)).toBe(second.certPem.toString().trim());
      expect(ended.closes).toEqual([]);
      expect(accepted).toHaveLength(1);
    } finally {
      await listener[Symbol.asyncDispose]();
    }
  });

  it('that are only half written leave a listener with the former ones', async () => {
    const own = credentials();
    const listener = await listenMesh({
      host: '127.0.0.1',
      port: 0,
      credentials: own,
      log: silentLogger,
      accept: () => new LinkLog(),
    });
    try {
      files = { ...first, certPem: joined(first.certPem, halfOf(second.certPem)) };
      clock.advance(1_000);
      expect(await shownBy(listener.address)).toBe(first.certPem.toString().trim());
    } finally {
      await listener[Symbol.asyncDispose]();
    }
  });

  it('are used by a child at its next dial', async () => {
    const listener = await listenMesh({
      host: '127.0.0.1',
      port: 0,
      credentials: first,
      log: silentLogger,
      accept: () => new LinkLog(),
    });
    try {
      files = others;
      const own = credentials();
      const dialer = grpcDialer(wayTo({ address: listener.address, parentPath: 'eu', credentials: own, clock }));
      await expect(dialer.dial(new LinkLog(), 10_000)).rejects.toThrow('was not signed by the authority of this tree');
      files = kid;
      clock.advance(1_000);
      const link = await dialer.dial(new LinkLog(), 10_000);
      expect(link.peer).toMatchObject({ path: 'eu', role: 'relay' });
      link.close('the test ends');
    } finally {
      await listener[Symbol.asyncDispose]();
    }
  });
});
