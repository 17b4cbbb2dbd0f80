// What the preload changes in the source of four modules. An object named "deadly" whose data say so crashes the agent that applies it, some moments later,
// with an uncaught error. A Secret named "quoted" does the same with an error that quotes a value of the Secret, and one named "quoted-in-thread" crashes the
// thread for long writes in this way. For an object named "garbled" whose data say so, the agent reports text that is no JSON. With an object named "mangled",
// the agent reports an unreadable partial. An object named "heavy" whose data say so crashes the relay that is to send it to the agent "shop".
import { readFileSync } from 'node:fs';

/** The text in the source, and the text that replaces it. */
type SourceChange = readonly [before: string, after: string];

export const sourceChanges: Readonly<Record<string, readonly SourceChange[]>> = {
  'edge-agent/cluster/mark.ts': [
    [
      'export function marked(object: KubeObject, source: string): KubeObject {',
      `$&
  if (object.metadata.name === 'deadly' && object.data?.dies === 'yes') setTimeout(() => { throw new Error('the cluster died of it'); });
  if (object.metadata.name === 'quoted') setTimeout(() => JSON.parse(atob(object.data.pin)));
  if (object.metadata.name === 'garbled') globalThis.garbles = object.data?.garbles === 'yes';
  if (object.metadata.name === 'mangled') globalThis.mangles = object.data?.mangles === 'yes';`,
    ],
  ],
  'core/apiserver/http/thread-space.ts': [
    [
      'export async function writeInThread(write: ThreadWrite): Promise<ThreadWritten> {',
      `$&
  const quoted = Buffer.from(write.body).toString();
  if (quoted.includes('quoted-in-thread')) JSON.parse(JSON.parse(quoted).stringData.pin);`,
    ],
  ],
  'edge-agent/agent/up-feed-entries.ts': [
    [
      "  #stateEntry(source: string, key: string): UpFeedEntry | undefined | 'unsure' {",
      `$&
    if (globalThis.garbles && key.endsWith('/garbled')) return { attributes: text('{"desired'), body: new Uint8Array(0) };`,
    ],
    [
      '  #partialEntry(id: PlacementId): UpFeedEntry | undefined {',
      `$&
    if (globalThis.mangles) return { attributes: new Uint8Array(0), body: text('{"generation') };`,
    ],
  ],
  'relay/schedule/mailbox-writer.ts': [
    [
      '    const offered = this.#offered(t, child, source, keyHash, work);',
      `$&
    if (child.name === 'shop' && offered.type === 'content' && offered.content.key.endsWith('/heavy') && /"breaks":"yes"/.test(Buffer.from(offered.content.body).toString())) throw new Error('it was too much');`,
    ],
  ],
};

/** Returns "FILE does not contain TEXT" for each change whose text the source of this checkout does not contain exactly once. */
export function staleChanges(): string[] {
  return Object.entries(sourceChanges).flatMap(([file, changes]) => {
    const source = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
    return changes
      .filter(([before]) => source.split(before).length !== 2)
      .map(([before]) => `${file} does not contain once: ${before.trim()}`);
  });
}
