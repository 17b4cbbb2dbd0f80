/** Chooses the form of the answer: the first clause of the Accept header that the server supports. */

import { BanyanError } from '../../runtime/errors.ts';

export type Form =
  | { readonly as: 'object' }
  | { readonly as: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList'; readonly version: 'v1' | 'v1beta1' }
  | { readonly as: 'discovery'; readonly version: 'v2' | 'v2beta1' };

/** The client that asks for protobuf or YAML gets JSON, which its header names too or which its parser reads too. */
const ownTypes: ReadonlySet<string> = new Set([
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/*',
  '*/*',
]);

/** Throws NotAcceptable if the header has no clause that the server supports. */
export function negotiate(accept: string | undefined): Form {
  if (!accept) return { as: 'object' };
  const [form] = formsOf(accept);
  if (form) return form;
  const message = `only the following media types are accepted: application/json, application/yaml; the Accept header is ${JSON.stringify(accept.slice(0, shownCharactersMax))}`;
  throw new BanyanError('NotAcceptable', message);
}

/** Whether the client reads aggregated discovery. Never throws. */
export function prefersDiscovery(accept: string): boolean {
  return formsOf(accept)[0]?.as === 'discovery';
}

/** Throws NotAcceptable if the client accepts only other forms than the object itself, such as a Table. */
export function checkAcceptsObject(accept: string | undefined): void {
  if (!accept || formsOf(accept).some(({ as }) => as === 'object')) return;
  throw new BanyanError(
    'NotAcceptable',
    'only the following media types are accepted: application/json, application/yaml',
  );
}

/** Number of characters of a header that a message shows. */
const shownCharactersMax = 200;

function formsOf(accept: string): Form[] {
  return accept.split(',').flatMap((clause) => {
    const [type, ...parameters] = clause.split(';').map((part) => part.trim());
    if (!ownTypes.has(type!)) return [];
    const form = formOf(Object.fromEntries(parameters.map((part) => part.split('=') as [string, string])));
    return form ? [form] : [];
  });
}

/** Undefined if the server does not have this form. */
function formOf({ as, g, v }: Record<string, string>): Form | undefined {
  if (as === undefined) return { as: 'object' };
  if (as === 'APIGroupDiscoveryList' && g === 'apidiscovery.k8s.io' && (v === 'v2' || v === 'v2beta1'))
    return { as: 'discovery', version: v };
  if (g !== 'meta.k8s.io' || (v !== 'v1' && v !== 'v1beta1')) return undefined;
  if (as === 'Table' || as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList') return { as, version: v };
  return undefined;
}
