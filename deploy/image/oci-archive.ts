/**
 * Writes an image as one file: an OCI layout (https://github.com/opencontainers/image-spec/blob/main/image-layout.md), and also the index that `docker save`
 * writes. So `ctr images import`, `docker load` and `podman load` can all read the file. The same folders give the same bytes.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

export interface Image {
  /** `banyan:0.1.0` */
  readonly name: string;
  /** Folders whose contents become the image. The contents of a folder replace files of the folders before it. */
  readonly layers: readonly string[];
  readonly config: {
    readonly User?: string;
    readonly Entrypoint: readonly string[];
    readonly Env?: readonly string[];
    readonly WorkingDir?: string;
    readonly Labels?: Readonly<Record<string, string>>;
  };
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** The names that Go and registries use for architectures. */
const architectures: Readonly<Partial<Record<string, string>>> = { x64: 'amd64', arm64: 'arm64' };
/** The compression level. It needs half of the time of the best level, for a file that is a twentieth larger. */
const compression = 6;
/** The largest output of tar: enough for a Node of 150 MB and the files beside it. */
const layerBytesMax = 1 << 30;

/** The platform of an image. `arch`: as `process.arch`. Throws if there are no images for it, or if this machine can build none. */
export function platform(arch: string = process.arch): { readonly os: 'linux'; readonly architecture: string } {
  const architecture = architectures[arch];
  if (process.platform === 'linux' && architecture) return { os: 'linux', architecture };
  throw new Error(`an image is built on Linux for amd64 or arm64, and this is ${process.platform} for ${arch}`);
}

/** Writes the archive. Returns the size of the image, both packed for the transport and unpacked as on a node. */
export function writeArchive(file: string, image: Image, arch?: string): { packedBytes: number; bytes: number } {
  const layout = mkdtempSync(`${file}.`);
  try {
    mkdirSync(join(layout, 'blobs/sha256'), { recursive: true });
    const blob = (mediaType: string, content: Buffer): Descriptor => {
      const hash = sha256(content);
      writeFileSync(join(layout, 'blobs/sha256', hash), content);
      return { mediaType, digest: `sha256:${hash}`, size: content.length };
    };
    const json = (mediaType: string, content: object) => blob(mediaType, Buffer.from(JSON.stringify(content)));
    const layers = image.layers.map((folder) => {
      const plain = archiveOf(folder);
      const packed = blob('application/vnd.oci.image.layer.v1.tar+gzip', gzipSync(plain, { level: compression }));
      return { packed, diffId: `sha256:${sha256(plain)}`, bytes: plain.length };
    });
    const config = json('application/vnd.oci.image.config.v1+json', {
      ...platform(arch),
      config: image.config,
      rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    });
    const mediaType = 'application/vnd.oci.image.manifest.v1+json';
    const packed = layers.map((layer) => layer.packed);
    const manifest = json(mediaType, { schemaVersion: 2, mediaType, config, layers: packed });
    const write = (name: string, content: object) => writeFileSync(join(layout, name), JSON.stringify(content));
    const reference = referenceOf(image.name);
    write('oci-layout', { imageLayoutVersion: '1.0.0' });
    write('index.json', {
      schemaVersion: 2,
      manifests: [
        {
          ...manifest,
          annotations: {
            'io.containerd.image.name': reference,
            'org.opencontainers.image.ref.name': image.name.split(':').at(-1),
          },
        },
      ],
    });
    const inArchive = ({ digest }: Descriptor) => `blobs/sha256/${digest.slice('sha256:'.length)}`;
    write('manifest.json', [{ Config: inArchive(config), RepoTags: [image.name], Layers: packed.map(inArchive) }]);
    writeFileSync(file, archiveOf(layout));
    const sum = (sizes: readonly number[]) => sizes.reduce((total, size) => total + size, 0);
    return { packedBytes: sum(packed.map(({ size }) => size)), bytes: sum(layers.map(({ bytes }) => bytes)) };
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
}

/** The name of an image in containerd. Docker's `banyan:0.1.0` is `docker.io/library/banyan:0.1.0`. */
function referenceOf(name: string): string {
  const [first = '', ...rest] = name.split('/');
  if (rest.length === 0) return `docker.io/library/${name}`;
  return /[.:]|^localhost$/.test(first) ? name : `docker.io/${name}`;
}

/** Packs a folder. Files get no owner, no time and a fixed order, so that the same folder gives the same bytes. */
function archiveOf(folder: string): Buffer {
  const plain = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--format=ustar'];
  const modes = '--mode=u+rwX,go+rX,go-w';
  return execFileSync('tar', [...plain, modes, '-C', folder, '-cf', '-', '.'], { maxBuffer: layerBytesMax });
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
