/** The methods of proto/mesh.proto in the form of grpc-js. They have no codec, because the link encodes the frames. */
export const sessionMethod = '/banyan.mesh.v1.Mesh/Session';
export const streamMethod = '/banyan.mesh.v1.Mesh/Stream';

export const asBytes = (bytes: Buffer): Buffer => bytes;

const frames = {
  requestStream: true,
  responseStream: true,
  requestSerialize: asBytes,
  requestDeserialize: asBytes,
  responseSerialize: asBytes,
  responseDeserialize: asBytes,
} as const;

export const meshService = {
  session: { path: sessionMethod, ...frames },
  stream: { path: streamMethod, ...frames },
} as const;

/** True if the `content-type` shows that a node sent the answer. The answer of a gateway contains a web page. */
export function isOfGrpc(contentType: unknown): boolean {
  return typeof contentType === 'string' && contentType.startsWith('application/grpc');
}
