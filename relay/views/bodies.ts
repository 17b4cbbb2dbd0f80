/**
 * Contents that came from another node, in the form that the API server shows. The metadata that only the origin knows is put back in, a status is appended,
 * and nothing is parsed.
 */

import type { OriginAttributes } from '../../core/entries/down-attributes.ts';
import type { Content } from '../../core/feed/feed.ts';
import { appendMember, spliceMetadata } from '../../core/object/canonical.ts';
import { asText, concat } from '../../core/store/bytes.ts';

/** Returns canonical bytes with the origin's uid, creationTimestamp and generation, and with the status if there is one (JSON bytes). */
export function shownBody(content: Content, status?: Uint8Array): Uint8Array {
  const { uid, created, generation } = JSON.parse(asText(content.attributes)) as OriginAttributes;
  const fields = `"creationTimestamp":${JSON.stringify(created)},"generation":${generation},"uid":${JSON.stringify(uid)}`;
  const body = concat(...spliceMetadata(content.body, fields));
  return status && status.length > 0 ? appendMember(body, 'status', status) : body;
}
