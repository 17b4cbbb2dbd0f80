/** Terminates TLS on loopback, and opens a new TLS connection to the parent, like a load balancer. The parent sees no certificate of the child. */
import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import type { NodeCredentials } from '../../core/wire/node-credentials.ts';

export interface TlsTerminator extends AsyncDisposable {
  /** host:port */
  readonly address: string;
  /** Destroys every connection. */
  cut(): void;
}

/** `target`: host:port. `own`: the certificate that children see. */
export async function tlsTerminator(target: string, own: NodeCredentials): Promise<TlsTerminator> {
  const [host, port] = target.split(':');
  const sockets = new Set<TLSSocket>();
  const options = { cert: own.certPem, key: own.keyPem, ALPNProtocols: ['h2', 'http/1.1'], noDelay: true };
  const server = createServer(options, (near) => {
    const protocol = near.alpnProtocol || 'http/1.1';
    const far = connect({ host: host!, port: Number(port), ALPNProtocols: [protocol], rejectUnauthorized: false });
    far.setNoDelay();
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}
