/** CertificateSigningRequests where they have their nature: in the system space of a node. In workload spaces they are cargo. */
import type { Kind } from '../space.ts';
import type { RequestReader } from './request-reader.ts';
import { isSigningRequest } from './signing-request.ts';

/** The kinds, with what CertificateSigningRequests need before a client writes them. */
export function withRequestReader(kinds: readonly Kind[], reader: RequestReader): readonly Kind[] {
  return kinds.map((kind) => (isSigningRequest(kind) ? { ...kind, load: () => reader.load() } : kind));
}
