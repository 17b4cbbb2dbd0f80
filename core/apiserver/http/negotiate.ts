/** Chooses the form of the answer: the first clause of the Accept header that the server supports. */

export type Form =
  | { readonly as: 'object' }
  | { readonly as: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList'; readonly version: 'v1' | 'v1beta1' }
  | { readonly as: 'discovery'; readonly version: 'v2' | 'v2beta1' };

export function negotiate(accept: string | undefined): Form {
  for (const clause of (accept ?? '').split(',')) {
    const [type, ...parameters] = clause.split(';').map((part) => part.trim());
    if (type !== 'application/json' && type !== 'application/*' && type !== '*/*') continue;
    const values = Object.fromEntries(parameters.map((part) => part.split('=') as [string, string]));
    const form = formOf(values);
    if (form) return form;
  }
  return { as: 'object' };
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
