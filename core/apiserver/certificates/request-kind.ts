/** CertificateSigningRequests where they have their nature: in the system space of a node. In workload spaces they are cargo. */
import type { Kind } from '../space.ts';
import type { RequestReader } from './request-reader.ts';
import { isSigningRequest } from './signing-request.ts';

/** The kinds, with the subresource `approval` of CertificateSigningRequests. */
export function withApproval(kinds: readonly Kind[], reader: RequestReader): readonly Kind[] {
  return kinds.map((kind) =>
    isSigningRequest(kind)
      ? { ...kind, subresources: { ...kind.subresources, approval: true }, load: () => reader.load() }
      : kind,
  );
}
