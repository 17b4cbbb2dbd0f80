/** Chooses the form of the answer: the first clause of the Accept header that the server supports. */

import { BanyanError } from '../../runtime/errors.ts';

/**
 * `protobuf`: the answer is in protobuf; `orJson`: the client reads JSON too. `yaml`: the answer is YAML. Both absent: the answer is JSON. `PartialObjectMetadata`:
 * the metadata of one object, or of each object of a list.
 */
export type Form = { readonly protobuf?: { readonly orJson: boolean }; readonly yaml?: true } & (
  | { readonly as: 'object' }
  | { readonly as: 'Table' | 'PartialObjectMetadata'; readonly version: 'v1' | 'v1beta1' }
  | { readonly as: 'discovery'; readonly version: 'v2' | 'v2beta1' }
);

/** The forms of a kind that exist in protobuf: objects and their metadata, or only the metadata. `nothing`: a client that asks for protobuf gets JSON. */
export type InProtobuf = 'objects' | 'metadata' | 'nothing';

export const protobufType = 'application/vnd.kubernetes.protobuf';
export const yamlType = 'application/yaml';

/** In what an answer is written. */
export type Encoding = 'json' | 'protobuf' | 'yaml';

/** Kubernetes 1.34 takes no `application/*`. */
const ownTypes: ReadonlySet<string> = new Set(['application/json', yamlType, protobufType, '*/*']);

/** Throws NotAcceptable if the header has no clause that the server supports. */
export function negotiate(accept: string | undefined, inProtobuf: InProtobuf = 'nothing'): Form {
  if (!accept) return { as: 'object' };
  const forms = formsOf(accept, inProtobuf);
  const [first] = forms;
  const form = first?.protobuf
    ? { ...first, protobuf: { orJson: forms.some(({ as, protobuf }) => as === first.as && !protobuf) } }
    : first;
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

/** The encoding of an answer in this form. */
export function encodingOf({ protobuf, yaml }: Form): Encoding {
  return protobuf ? 'protobuf' : yaml ? 'yaml' : 'json';
}

/**
 * The encoding of a Status, or of an answer whose form the client does not choose: the first clause that asks for no other form than the object decides, as in
 * kube-apiserver.
 */
export function preferredEncoding(accept: string): Encoding {
  const first = clausesOf(accept).find(({ parameters }) => parameters.as === undefined);
  return first?.type === protobufType ? 'protobuf' : first?.type === yamlType ? 'yaml' : 'json';
}

/** Throws NotAcceptable if the client reads a watch only as YAML, which has no form for one event after the other. */
export function checkAcceptsStream({ yaml }: Form): void {
  if (!yaml) return;
  const types = ['application/json', protobufType].map((type) => `${type};stream=watch`);
  throw new BanyanError('NotAcceptable', `only the following media types are accepted: ${types.join(', ')}`);
}

function formsOf(accept: string, inProtobuf: InProtobuf = 'nothing'): Form[] {
  return clausesOf(accept).flatMap(({ type, parameters }) => {
    const form = formOf(parameters);
    if (!form) return [];
    if (type === yamlType && form.as !== 'discovery') return [{ ...form, yaml: true }];
    if (type !== protobufType || inProtobuf === 'nothing') return [form];
    const isThere = form.as === 'object' ? inProtobuf === 'objects' : form.as === 'PartialObjectMetadata';
    return isThere ? [{ ...form, protobuf: { orJson: false } }] : [];
  });
}

interface Clause {
  readonly type: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** The clauses with a media type that the server knows, in the order of the header. */
function clausesOf(accept: string): Clause[] {
  return accept.split(',').flatMap((clause) => {
    const [type = '', ...parameters] = clause.split(';').map((part) => part.trim());
    if (!ownTypes.has(type)) return [];
    return [{ type, parameters: Object.fromEntries(parameters.map((part) => part.split('=') as [string, string])) }];
  });
}

/** Undefined if the server does not have this form. */
function formOf({ as, g, v }: Record<string, string>): Form | undefined {
  if (as === undefined) return { as: 'object' };
  if (as === 'APIGroupDiscoveryList' && g === 'apidiscovery.k8s.io' && (v === 'v2' || v === 'v2beta1'))
    return { as: 'discovery', version: v };
  if (g !== 'meta.k8s.io' || (v !== 'v1' && v !== 'v1beta1')) return undefined;
  if (as === 'Table') return { as, version: v };
  const isMetadata = as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList';
  return isMetadata ? { as: 'PartialObjectMetadata', version: v } : undefined;
}
