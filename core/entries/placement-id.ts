/** `center.retail/shop-prod`: the name of a placement at every node. Names contain no slash, so the text has one slash exactly. */
export type PlacementId = string;

export function placementId(source: string, name: string): PlacementId {
  return `${source}/${name}`;
}

export function splitPlacementId(id: PlacementId): { source: string; name: string } {
  const slash = id.indexOf('/');
  return { source: id.slice(0, slash), name: id.slice(slash + 1) };
}
