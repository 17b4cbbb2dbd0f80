/** The connection through a proxy: TLS to the proxy if it requires TLS, then CONNECT. After that, the proxy passes all bytes on without changes. */
import { isIP, type Socket } from 'node:net';
import { connect } from 'node:tls';
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError, describeError } from '../../runtime/errors.ts';
import { hostPort } from '../../runtime/host-port.ts';
import { ConnectReply } from './connect-reply.ts';
import type { ProxyAddress } from './proxy-url.ts';

export interface TunnelOptions {
  readonly proxy: ProxyAddress;
  readonly target: { readonly host: string; readonly port: number };
  /** The authorities that may sign the certificate of an https proxy. Absent: the authorities of the system. */
  readonly caPem?: Buffer;
  readonly clock: Clock;
}

/** Shorter than the time limit of a dial, so that the error names a proxy that does not answer. */
export const tunnelWithinMs = 8_000;

/** Opens the tunnel. On an error, destroys `tcp` and throws Unavailable, Unauthorized, Forbidden or Protocol, with a message about the proxy. */
export async function openTunnel(tcp: Socket, options: TunnelOptions): Promise<Socket> {
  const shown = `the proxy ${options.proxy.shown}`;
  const silent = new BanyanError('Unavailable', `${shown} did not answer within ${tunnelWithinMs / 1000} s`);
  const timer = options.clock.after(tunnelWithinMs, () => tcp.destroy(silent));
  try {
    const socket = options.proxy.secure ? await secureProxy(tcp, shown, options) : tcp;
    await connectThrough(socket, shown, options);
    return socket;
  } catch (error) {
    tcp.destroy();
    throw error;
  } finally {
    timer.stop();
  }
}

function secureProxy(tcp: Socket, shown: string, { proxy, caPem }: TunnelOptions): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      socket: tcp,
      host: proxy.host,
      ...(isIP(proxy.host) ? {} : { servername: proxy.host }),
      ...(caPem ? { ca: caPem } : {}),
      ALPNProtocols: ['http/1.1'],
    });
    const failed = (error: Error) => {
      if (error instanceof BanyanError) return reject(error);
      const code = (error as NodeJS.ErrnoException).code ?? '';
      const untrusted = /CERT|SIGNATURE|ALTNAME/.test(code);
      const remedy = untrusted
        ? ': name its authority in link.ca'
        : ': does it speak TLS? http:// in link.proxy means no TLS';
      const why = `${shown}: no TLS (${describeError(error)})${remedy}`;
      reject(new BanyanError(untrusted ? 'Unauthorized' : 'Unavailable', why, {}, { cause: error }));
    };
    socket.once('error', failed);
    tcp.once('error', failed);
    socket.once('close', () => failed(new Error('it closed the connection')));
    socket.once('secureConnect', () => {
      socket.removeListener('error', failed);
      resolve(socket);
    });
  });
}

/** Reads at `readable` events. So the code does not read bytes that belong to TLS. */
function connectThrough(socket: Socket, shown: string, { proxy, target }: TunnelOptions): Promise<void> {
  const authority = hostPort(target.host, target.port);
  const reply = new ConnectReply(shown, authority);
  return new Promise((resolve, reject) => {
    const over = (error?: Error) => {
      socket.removeListener('readable', read);
      socket.removeListener('end', ended);
      socket.removeListener('close', ended);
      socket.removeListener('error', failed);
      if (error) reject(error);
      else resolve();
    };
    const read = () => {
      try {
        for (let chunk = socket.read() as Buffer | null; chunk; chunk = socket.read() as Buffer | null) {
          if (reply.push(chunk)) return over();
        }
      } catch (error) {
        over(error as Error);
      }
    };
    const ended = () => over(reply.ended());
    const failed = (error: Error) => {
      if (error instanceof BanyanError) return over(error);
      over(new BanyanError('Unavailable', `${shown}: ${describeError(error)}`, {}, { cause: error }));
    };
    socket.on('readable', read);
    socket.once('end', ended);
    socket.once('close', ended);
    socket.once('error', failed);
    const authorization = proxy.authorization === undefined ? '' : `Proxy-Authorization: ${proxy.authorization}\r\n`;
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization}\r\n`);
  });
}
