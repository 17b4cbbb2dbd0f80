/**
 * Subscribes to the HTTP/2 streams of mesh calls. grpc-js does not expose its streams and sessions, but node:http2 announces each stream that a server or a
 * client opens.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientHttp2Stream, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { sessionMethod, streamMethod } from './session-method.ts';

export type MeshMethod = typeof sessionMethod | typeof streamMethod;

/**
 * Calls `listener` for the streams of all servers of this process, until the returned function is called. `method` is undefined if the path is not a method
 * of the mesh.
 */
export function onServerStreams(
  listener: (stream: ServerHttp2Stream, method: MeshMethod | undefined) => void,
): () => void {
  return subscribeTo('http2.server.stream.created', (stream, method) => listener(stream as ServerHttp2Stream, method));
}

/** Calls `listener` for the streams of all clients of this process, until the returned function is called. */
export function onClientStreams(
  listener: (stream: ClientHttp2Stream, method: MeshMethod | undefined) => void,
): () => void {
  return subscribeTo('http2.client.stream.created', (stream, method) => listener(stream as ClientHttp2Stream, method));
}

function subscribeTo(channel: string, listener: (stream: unknown, method: MeshMethod | undefined) => void): () => void {
  const opened = (message: unknown) => {
    const { stream, headers } = message as { stream: unknown; headers: IncomingHttpHeaders };
    const path = headers[':path'];
    listener(stream, path === sessionMethod || path === streamMethod ? path : undefined);
  };
  subscribe(channel, opened);
  return () => unsubscribe(channel, opened);
}
