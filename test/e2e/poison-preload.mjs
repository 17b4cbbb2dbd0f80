// Loaded into every process of a tree by NODE_OPTIONS. The product has no switches for this: the source of three modules is changed when it is loaded. An
// object named "deadly" whose data say so crashes the agent that applies it, some moments later, with an uncaught error. For an object named "garbled" whose
// data say so, the agent reports text that is no JSON. With an object named "mangled", it reports an unreadable partial. An object named "heavy" whose data
// say so crashes the relay that is to send it to the agent "shop".
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const changes = {
  'edge-agent/cluster/mark.ts': [
    [
      'export function marked(object: KubeObject, source: string): KubeObject {',
      `$&
  if (object.metadata.name === 'deadly' && object.data?.dies === 'yes') setTimeout(() => { throw new Error('the cluster died of it'); });
  if (object.metadata.name === 'garbled') globalThis.garbles = object.data?.garbles === 'yes';
  if (object.metadata.name === 'mangled') globalThis.mangles = object.data?.mangles === 'yes';`,
    ],
  ],
  'edge-agent/agent/up-feed-entries.ts': [
    [
      "  #sayState(source: string, key: string): UpFeedEntry | undefined | 'unsure' {",
      `$&
    if (globalThis.garbles && key.endsWith('/garbled')) return { attributes: text('{"desired'), body: new Uint8Array(0) };`,
    ],
    [
      '  #sayPartial(id: PlacementId): UpFeedEntry | undefined {',
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

// A process that does not load one of these files would be unchanged, and a test of it would only time out.
for (const [file, changed] of Object.entries(changes)) {
  const source = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  for (const [before] of changed)
    if (!source.includes(before)) throw new Error(`${file} is not what poison-preload.mjs takes it for`);
}

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const [, changed] = Object.entries(changes).find(([file]) => url.endsWith(`/${file}`)) ?? [];
    if (!changed) return loaded;
    let source = loaded.source.toString();
    for (const [before, after] of changed) source = source.replace(before, after);
    return { ...loaded, source };
  },
});
