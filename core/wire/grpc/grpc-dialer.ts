/** The child's side: one connection and one call to the parent, whose certificate must name the parent's path. */
import { Client, type ClientDuplexStream, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { identityOfCertificate } from '../../identity/peer-identity.ts';
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError, describeError, type ErrorCode } from '../../runtime/errors.ts';
import type { Dialer, Link, LinkEvents, PeerIdentity } from '../link.ts';
import { channelOptions } from './channel-options.ts';
import { GrpcLink, sessionMethod } from './grpc-link.ts';
import type { NodeCredentials } from './grpc-listener.ts';

export interface DialOptions {
  /** host:port */
  readonly address: string;
  readonly parentPath: string;
  readonly credentials: NodeCredentials;
  readonly clock: Clock;
}

const identity = (bytes: Buffer) => bytes;

export function grpcDialer(options: DialOptions): Dialer {
  return { dial: (events, timeoutMs) => dial(options, events, timeoutMs) };
}

async function dial(
  { address, parentPath, credentials: own, clock }: DialOptions,
  events: LinkEvents,
  timeoutMs: number,
): Promise<Link> {
  let refusal: BanyanError | undefined;
  const secure = credentials.createSsl(own.caPem, own.keyPem, own.certPem, {
    checkServerIdentity: (_host, certificate) => {
      refusal = wrongParent(certificate.raw, parentPath);
      return refusal;
    },
  });
  // A server name must not be an address; who answers is told by its SPIFFE identity, so any name does.
  const client = new Client(address, secure, { ...channelOptions, 'grpc.ssl_target_name_override': 'banyan.parent' });
  try {
    await connected(client, clock.wallMs() + timeoutMs);
  } catch (error) {
    client.close();
    throw refusal ?? dialError(address, error);
  }
  const call: ClientDuplexStream<Buffer, Buffer> = client.makeBidiStreamRequest(
    sessionMethod,
    identity,
    identity,
    new Metadata(),
  );
  const peer: PeerIdentity = { path: parentPath, role: parentPath === '' ? 'center' : 'relay' };
  const link = new GrpcLink(peer, call, () => call.end());
  link.start({
    ...wrapped(events),
    onClose(error) {
      // A call that was ended in order leaves the connection open for the next one, which the session will not make here.
      setImmediate(() => {
        call.cancel();
        client.close();
      });
      events.onClose(error && dialError(address, error));
    },
  });
  return link;
}

function wrapped(events: LinkEvents): LinkEvents {
  return {
    onFrame: (frame) => events.onFrame(frame),
    onBytes: (count) => events.onBytes(count),
    onDrain: () => events.onDrain(),
    onClose: (error) => events.onClose(error),
  };
}

/** grpc-js takes a deadline as wall time. */
function connected(client: Client, deadlineMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    client.waitForReady(deadlineMs, (error) => (error ? reject(error) : resolve()));
  });
}

function wrongParent(certificate: Uint8Array, parentPath: string): BanyanError | undefined {
  try {
    const { path, role } = identityOfCertificate(certificate);
    if (path === parentPath && role !== 'agent') return undefined;
    return new BanyanError(
      'Unauthorized',
      `who answers is ${role} "${path}", not the parent "${parentPath}": check parent.address`,
    );
  } catch (error) {
    return error instanceof BanyanError ? error : new BanyanError('Unauthorized', describeError(error));
  }
}

function dialError(address: string, cause: unknown): BanyanError {
  if (cause instanceof BanyanError) return cause;
  const { code, details, message } = cause as Partial<ServiceError>;
  const codes: Partial<Record<number, ErrorCode>> = {
    [status.UNAUTHENTICATED]: 'Unauthorized',
    [status.PERMISSION_DENIED]: 'Forbidden',
    [status.INVALID_ARGUMENT]: 'Protocol',
    [status.ALREADY_EXISTS]: 'AlreadyExists',
    [status.NOT_FOUND]: 'NotFound',
  };
  return new BanyanError(
    codes[code ?? -1] ?? 'Unavailable',
    `${address}: ${details || message || 'no connection'}`,
    {},
    { cause },
  );
}
