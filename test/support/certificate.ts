// A certificate of its own authority for `zerotime.test` and 127.0.0.1, valid from 2000 to 2099
// (openssl ca -selfsign, with a key on the curve prime256v1).

/** In PEM, as is its key. */
export const CERT = `-----BEGIN CERTIFICATE-----
MIIBcjCCARmgAwIBAgIBATAKBggqhkjOPQQDAjAYMRYwFAYDVQQDDA16ZXJvdGlt
ZSB0ZXN0MCAXDTAwMDEwMTAwMDAwMFoYDzIwOTkxMjMxMjM1OTU5WjAYMRYwFAYD
VQQDDA16ZXJvdGltZSB0ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEebO4
VKMd46TBlf5+wn8tkWfFBci7fXemjwZzf37yMgs0KKMi5T3jAQzoQ8YP/FCNT53n
zZVRL8LV4CCRWtylVqNSMFAwDwYDVR0TAQH/BAUwAwEB/zAeBgNVHREEFzAVgg16
ZXJvdGltZS50ZXN0hwR/AAABMB0GA1UdDgQWBBRsclaJvBW7IJxIffFlnThgfW9O
lzAKBggqhkjOPQQDAgNHADBEAiA+OpPQ1+WYNd5YJZkvLfo7Ljh6CyVdpuBZsuHT
l4tgZgIgNuS6UmJwMV0GiDGhcU3qvwkhIVwawXimyUVbahSGC4s=
-----END CERTIFICATE-----
`;

/** Secures nothing but tests. */
export const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgK1zbBzuZKirzasWg
uDQImGiFM5++EyoNgDQqTyn101yhRANCAAR5s7hUox3jpMGV/n7Cfy2RZ8UFyLt9
d6aPBnN/fvIyCzQooyLlPeMBDOhDxg/8UI1PnefNlVEvwtXgIJFa3KVW
-----END PRIVATE KEY-----
`;
