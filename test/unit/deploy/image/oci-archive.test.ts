import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeArchive } from '../../../../deploy/image/oci-archive.ts';

interface Descriptor {
  readonly digest: string;
  readonly size: number;
  readonly annotations?: Readonly<Record<string, string>>;
}

const config = { User: '65532:65532', Entrypoint: ['/usr/bin/thing'] };
const sha256 = (content: Buffer) => `sha256:${createHash('sha256').update(content).digest('hex')}`;

describe.skipIf(process.platform !== 'linux')(
  'the archive of an image [not run elsewhere: images are made on Linux]',
  () => {
    let directory: string;
    let layers: string[];

    beforeEach(() => {
      directory = mkdtempSync(join(tmpdir(), 'banyan-archive-'));
      layers = ['one', 'two'].map((name) => {
        const layer = join(directory, name);
        mkdirSync(join(layer, 'usr/bin'), { recursive: true });
        writeFileSync(join(layer, 'usr/bin', name), name);
        return layer;
      });
      chmodSync(join(directory, 'one/usr/bin/one'), 0o775);
      chmodSync(join(directory, 'two/usr/bin/two'), 0o600);
    });
    afterEach(() => rmSync(directory, { recursive: true }));

    const write = (name = 'thing:1') => {
      const file = join(directory, 'image.tar');
      const sizes = writeArchive(file, { name, layers, config });
      const unpacked = mkdtempSync(join(directory, 'unpacked-'));
      execFileSync('tar', ['-xf', file, '-C', unpacked]);
      const json = <T>(path: string) => JSON.parse(readFileSync(join(unpacked, path), 'utf8')) as T;
      const blob = ({ digest }: Descriptor) =>
        readFileSync(join(unpacked, 'blobs/sha256', digest.replace('sha256:', '')));
      return { file, unpacked, json, blob, sizes };
    };

    it('names every blob by its hash and length, and the hash of each unpacked layer', () => {
      const { unpacked, json, blob, sizes } = write();
      for (const name of readdirSync(join(unpacked, 'blobs/sha256')))
        expect(sha256(readFileSync(join(unpacked, 'blobs/sha256', name)))).toBe(`sha256:${name}`);
      const [manifest] = json<{ manifests: Descriptor[] }>('index.json').manifests;
      const { config: described, layers: packed } = JSON.parse(blob(manifest!).toString()) as {
        config: Descriptor;
        layers: Descriptor[];
      };
      for (const one of [manifest!, described, ...packed]) expect(blob(one)).toHaveLength(one.size);
      const image = JSON.parse(blob(described).toString()) as { config: object; rootfs: { diff_ids: string[] } };
      expect(image.config).toEqual(config);
      const plain = packed.map((layer) => gunzipSync(blob(layer)));
      expect(image.rootfs.diff_ids).toEqual(plain.map(sha256));
      const total = (sizesOf: readonly number[]) => sizesOf.reduce((sum, size) => sum + size, 0);
      expect(sizes).toEqual({
        packedBytes: total(packed.map(({ size }) => size)),
        bytes: total(plain.map((one) => one.length)),
      });
    });

    it('has the names that containerd and other engines use', () => {
      const names = (name: string) => {
        const { json } = write(name);
        const { annotations } = json<{ manifests: Descriptor[] }>('index.json').manifests[0]!;
        return [
          annotations?.['io.containerd.image.name'],
          json<{ RepoTags: string[] }[]>('manifest.json')[0]!.RepoTags,
        ];
      };
      expect(names('thing:1')).toEqual(['docker.io/library/thing:1', ['thing:1']]);
      expect(names('who/thing:1')).toEqual(['docker.io/who/thing:1', ['who/thing:1']]);
      expect(names('registry.example.com/thing:1')).toEqual([
        'registry.example.com/thing:1',
        ['registry.example.com/thing:1'],
      ]);
      expect(names('localhost:5000/thing:1')[0]).toBe('localhost:5000/thing:1');
    });

    it('has files that belong to root, that everybody reads and only root writes', () => {
      const { json, unpacked } = write();
      const [{ Layers: packed }] = json<[{ Layers: string[] }]>('manifest.json');
      const listed = packed.map((layer) => execFileSync('tar', ['-tvzf', join(unpacked, layer)], { encoding: 'utf8' }));
      expect(listed[0]).toMatch(/^-rwxr-xr-x 0\/0\s.*\.\/usr\/bin\/one$/m);
      expect(listed[1]).toMatch(/^-rw-r--r-- 0\/0\s.*\.\/usr\/bin\/two$/m);
    });

    it('is the same for the same files, whenever and by whomever they were written', () => {
      const before = sha256(readFileSync(write().file));
      utimesSync(join(directory, 'one/usr/bin/one'), 1, 1);
      expect(sha256(readFileSync(write().file))).toBe(before);
      writeFileSync(join(directory, 'one/usr/bin/one'), 'another');
      expect(sha256(readFileSync(write().file))).not.toBe(before);
    });
  },
);
