# The image: two static binaries and the public certificate authorities. `make image` builds it;
# `docker buildx build --platform linux/amd64,linux/arm64 .` builds it for several architectures, compiled on the builder's own.
# The digest is that of the index for all platforms. `docker buildx imagetools inspect golang:1.26.8` prints the current one.
FROM --platform=$BUILDPLATFORM golang:1.26.8@sha256:0f063af2d465d8dcae54cce04278ada488b96f77b42449c8d071e47d016cc65a AS build
WORKDIR /src

COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download

# Mozilla's, of the version in tools/roots/go.mod: independent of the build image, and the same in a build without docker.
COPY tools/roots ./tools/roots
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    mkdir -p /out && go -C tools/roots run . >/out/ca-certificates.crt

COPY main.go ./
COPY cmd/helm-locker-notifications ./cmd/helm-locker-notifications
COPY crds ./crds
COPY pkg ./pkg
COPY scripts ./scripts
# There is no .git here: scripts/version takes these instead.
ARG VERSION=v0.0.0-image
ARG COMMIT=unknown
ARG DATE=unknown
ARG TARGETOS=linux
ARG TARGETARCH
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    export GOOS=$TARGETOS GOARCH=$TARGETARCH && \
    scripts/build operator /out/helm-locker && scripts/build notifications /out/helm-locker-notifications

FROM scratch
ARG VERSION=v0.0.0-image
ARG COMMIT=unknown
ARG DATE=unknown
LABEL org.opencontainers.image.title="helm-locker" \
      org.opencontainers.image.description="Locks what a Helm release deployed: only Helm can change it" \
      org.opencontainers.image.source="https://github.com/rancher/helm-locker" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$COMMIT" \
      org.opencontainers.image.created="$DATE"
# tools/release reads this stage, too; what it does not know it refuses.
COPY package/etc /etc
# For receivers of notifications. The API server's CA is mounted with the service account.
COPY --from=build /out/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY LICENSE /licenses/LICENSE
COPY --from=build /out/helm-locker /usr/bin/helm-locker
COPY --from=build /out/helm-locker-notifications /usr/bin/helm-locker-notifications
# By number, so that kubelet can check runAsNonRoot without reading /etc/passwd.
USER 65532:65532
ENTRYPOINT ["/usr/bin/helm-locker"]
