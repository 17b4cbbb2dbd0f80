/** Which bodies may have the content of a Secret or a token. They are in no event, whatever the policy says: many programs read a log, and a copy of it stays for years. */
import { type AccessAttributes, isForResource } from '../access/attributes.ts';
import { fullResource } from '../access/refusal.ts';
import { isRecord } from '../runtime/is-record.ts';

/** By API group. The plan of a space has objects in its body, and the changes that undo a release have former objects. */
const resources: Readonly<Record<string, readonly string[]>> = {
  '': ['secrets', 'serviceaccounts/token'],
  'authentication.k8s.io': ['tokenreviews'],
  'edge.banyan.io': ['edgeplacements/plan', 'edgeplacements/undo'],
  'mesh.banyan.io': ['mailboxes/plan'],
};

const kinds: ReadonlySet<unknown> = new Set(['Secret', 'SecretList', 'TokenRequest', 'TokenReview']);

/** The text of the annotation in the place of the body. */
export const confidentialText = 'may have the content of a Secret or a token';

export function isConfidential(attributes: AccessAttributes): boolean {
  return isForResource(attributes) && (resources[attributes.apiGroup]?.includes(fullResource(attributes)) ?? false);
}

/** Whether the body is of such a kind: somebody may send a Secret to the URL of another resource. */
export function isConfidentialBody(body: unknown): boolean {
  return isRecord(body) && kinds.has(body.kind);
}
