/** The parent's side: accepts calls from children that hold a certificate of this tree. */
import { Server, ServerCredentials, type ServerDuplexStream, status } from '@grpc/grpc-js';
import { identityOfCertificate } from '../../identity/peer-identity.ts';
import { BanyanError, describeError, errorTable } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Accept, Listener } from '../link.ts';
import { channelOptions } from './channel-options.ts';
import { GrpcLink, sessionMethod } from './grpc-link.ts';

export interface NodeCredentials {
  readonly caPem: Buffer;
  readonly certPem: Buffer;
  readonly keyPem: Buffer;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly credentials: NodeCredentials;
  readonly accept: Accept;
  readonly log: Logger;
}

/** How long calls may take to end in order before the port is closed on them. */
const drainMs = 2_000;
const identity = (bytes: Buffer) => bytes;

export async function listenGrpc({ host, port, credentials, accept, log }: ListenOptions): Promise<Listener> {
  const server = new Server(channelOptions);
  const session = {
    path: sessionMethod,
    requestStream: true,
    responseStream: true,
    requestSerialize: identity,
    requestDeserialize: identity,
    responseSerialize: identity,
    responseDeserialize: identity,
  } as const;
  server.addService(
    { session },
    {
      session: (call: ServerDuplexStream<Buffer, Buffer>) => receive(call, accept, log),
    },
  );
  const { caPem, certPem, keyPem } = credentials;
  const secure = ServerCredentials.createSsl(caPem, [{ private_key: keyPem, cert_chain: certPem }], true);
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${host}:${port}`, secure, (error, actual) =>
      error ? reject(cannotListen(host, port, error)) : resolve(actual),
    );
  });
  return {
    address: `${host}:${bound}`,
    async [Symbol.asyncDispose]() {
      const drained = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      const late = new Promise<void>((resolve) => setTimeout(resolve, drainMs).unref());
      await Promise.race([drained, late]);
      server.forceShutdown();
    },
  };
}

function receive(call: ServerDuplexStream<Buffer, Buffer>, accept: Accept, log: Logger): void {
  let link: GrpcLink | undefined;
  try {
    const certificate = call.getAuthContext().sslPeerCertificate?.raw;
    if (!certificate) throw new BanyanError('Unauthorized', 'no certificate came with the connection');
    link = new GrpcLink(identityOfCertificate(certificate), call, () => call.end());
    link.start(accept(link));
  } catch (error) {
    const code = error instanceof BanyanError ? errorTable[error.code].grpc : status.INTERNAL;
    log.warn({ peer: call.getPeer(), reason: describeError(error) }, 'a child was refused');
    call.emit('error', { code, details: describeError(error) });
  }
}

function cannotListen(host: string, port: number, cause: Error): BanyanError {
  return new BanyanError(
    'Unavailable',
    `can't listen on ${host}:${port} (${cause.message}); free the port or choose another`,
    {},
    { cause },
  );
}
